//! `LogFile`: takes the output of a command.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use lazaret_tree::{AtPath as _, PathError};

use super::{SEGMENT, segment};

/// The output of a command, stdout and stderr in the order in which they arrived.
#[derive(Debug)]
pub struct LogFile {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    dir: PathBuf,
    file: File,
    /// Bytes in `file`.
    filled: u64,
    /// Bytes in all segments that were ever begun.
    printed: u64,
    /// Where the segments after the first begin that are there, the oldest first.
    tail: Vec<u64>,
    dropped: u64,
    failure: Option<io::Error>,
}

impl LogFile {
    /// Begins the log of a run in its directory, readable by the user alone.
    ///
    /// # Errors
    /// The disk's, with the path.
    pub fn create(dir: &Path) -> Result<Self, PathError> {
        let path = segment(dir, 0);
        let state = State {
            dir: dir.to_owned(),
            file: create(&path).at(&path)?,
            filled: 0,
            printed: 0,
            tail: Vec::new(),
            dropped: 0,
            failure: None,
        };
        Ok(Self {
            state: Mutex::new(state),
        })
    }

    /// Adds a chunk of output. A full disk stops the log and never the command; the
    /// session says so at its end.
    pub fn append(&self, chunk: &[u8]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.failure.is_none()
            && let Err(error) = state.write(chunk)
        {
            state.failure = Some(error);
        }
    }

    /// Says whether everything is in it so far.
    pub fn end(&self) -> LogEnd {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match (&state.failure, state.dropped) {
            (Some(error), _) => LogEnd::Failed(error.to_string()),
            (None, 0) => LogEnd::Complete,
            (None, dropped) => LogEnd::Truncated { dropped },
        }
    }
}

impl State {
    fn write(&mut self, mut chunk: &[u8]) -> io::Result<()> {
        while !chunk.is_empty() {
            if self.filled == SEGMENT {
                self.begin_segment()?;
            }
            let room = usize::try_from(SEGMENT - self.filled).unwrap_or(usize::MAX);
            let (now, later) = chunk.split_at(room.min(chunk.len()));
            self.file.write_all(now)?;
            self.filled += now.len() as u64;
            self.printed += now.len() as u64;
            chunk = later;
        }
        Ok(())
    }

    fn begin_segment(&mut self) -> io::Result<()> {
        if let [oldest, _] = *self.tail {
            fs::remove_file(segment(&self.dir, oldest))?;
            self.tail.remove(0);
            self.dropped += SEGMENT;
        }
        self.file = create(&segment(&self.dir, self.printed))?;
        self.filled = 0;
        self.tail.push(self.printed);
        Ok(())
    }
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)
}

/// Whether a log holds everything.
#[derive(Debug)]
pub enum LogEnd {
    /// Everything is there.
    Complete,
    /// It holds the beginning and the end.
    Truncated {
        /// Bytes between them that are not in it.
        dropped: u64,
    },
    /// The log could not be written to its end.
    Failed(String),
}
