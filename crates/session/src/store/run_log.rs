//! `LogFile`: what the command printed, kept with the session, up to a cap.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use lazaret_tree::{AtPath as _, PathError};

/// The most that a session's log holds, in bytes (mission P2). What goes beyond is
/// counted, not kept: a command that prints for ever fills no disk (FLT-17).
pub const LOG_CAP: u64 = 5 * 1024 * 1024;

/// The output of a command, stdout and stderr in the order in which they arrived.
#[derive(Debug)]
pub struct LogFile {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    kept: u64,
    dropped: u64,
    failure: Option<io::Error>,
}

impl LogFile {
    /// Creates the file, readable by the user alone, or empties it.
    ///
    /// # Errors
    /// The disk's, with the path.
    pub fn create(path: &Path) -> Result<Self, PathError> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path)
            .at(path)?;
        let state = State {
            file,
            kept: 0,
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
        let room = usize::try_from(LOG_CAP - state.kept)
            .unwrap_or(usize::MAX)
            .min(chunk.len());
        let (kept, dropped) = chunk.split_at(if state.failure.is_some() { 0 } else { room });
        match state.file.write_all(kept) {
            Ok(()) => state.kept += kept.len() as u64,
            Err(error) => state.failure = Some(error),
        }
        state.dropped += dropped.len() as u64;
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

/// Whether a log holds everything.
#[derive(Debug)]
pub enum LogEnd {
    /// Everything is there.
    Complete,
    /// The cap was reached.
    Truncated {
        /// Bytes that are not in the log.
        dropped: u64,
    },
    /// The log could not be written to its end.
    Failed(String),
}
