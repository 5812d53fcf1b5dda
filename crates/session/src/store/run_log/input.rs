//! `InputLog`: counts what a command is sent on stdin, and keeps it where that is wanted.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use lazaret_tree::{AtPath as _, PathError};

use super::{RunDir, run_dir, runs};
use crate::spec::LogLevel;
use crate::store::SessionDir;

/// The most bytes of stdin that are kept.
const MOST: u64 = 1 << 20;

const FILE: &str = "input";

/// What a command was sent on stdin. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct InputLog(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    bytes: u64,
    /// Where it is kept; `None` if it is not, or the disk is full.
    file: Option<File>,
}

/// Passes on what a command is sent, and notes it.
struct Noted {
    to: Box<dyn Write + Send>,
    log: InputLog,
}

impl InputLog {
    /// Begins to count; the first MiB is kept at [`LogLevel::Debug`], readable by the user alone.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn create(dir: &RunDir, level: LogLevel) -> Result<Self, PathError> {
        let path = dir.path.join(FILE);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let file = match level {
            LogLevel::Info => None,
            LogLevel::Debug => Some(options.open(&path).at(&path)?),
        };
        Ok(Self(Arc::new(Mutex::new(State { bytes: 0, file }))))
    }

    /// Notes what is written to `to`.
    pub(crate) fn note(&self, to: Box<dyn Write + Send>) -> Box<dyn Write + Send> {
        let log = self.clone();
        Box::new(Noted { to, log })
    }

    /// Returns how many bytes were sent so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }

    fn add(&self, chunk: &[u8]) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = usize::try_from(MOST.saturating_sub(state.bytes)).unwrap_or(usize::MAX);
        state.bytes += chunk.len() as u64;
        let kept = chunk.get(..room).unwrap_or(chunk);
        // The command goes on without the log.
        if let Some(file) = &mut state.file
            && file.write_all(kept).is_err()
        {
            state.file = None;
        }
    }
}

impl Write for Noted {
    fn write(&mut self, chunk: &[u8]) -> io::Result<usize> {
        let count = self.to.write(chunk)?;
        self.log.add(chunk.get(..count).unwrap_or_default());
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Returns the file with what a run was sent on stdin, of the last run if none is named; `None` if
/// it was not kept.
///
/// # Errors
/// The disk's.
pub fn kept_input(dir: &SessionDir, run: Option<u32>) -> Result<Option<PathBuf>, PathError> {
    let run = match run {
        Some(run) => Some(run),
        None => runs(dir)?.last().copied(),
    };
    let path = run.map(|run| run_dir(dir, run).join(FILE));
    Ok(path.filter(|path| path.exists()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc;

    use super::*;

    struct Command(mpsc::Sender<Vec<u8>>);

    impl Write for Command {
        fn write(&mut self, chunk: &[u8]) -> io::Result<usize> {
            let taken = chunk.get(..3).unwrap_or(chunk);
            let sent = self.0.send(taken.to_vec());
            sent.map(|()| taken.len())
                .map_err(|_| io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_the_command_took_is_counted_and_its_beginning_kept() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunDir {
            number: 1,
            path: dir.path().to_owned(),
        };
        for (level, kept) in [(LogLevel::Info, None), (LogLevel::Debug, Some(MOST))] {
            let log = InputLog::create(&run, level).unwrap();
            let (command, taken) = mpsc::channel();
            let mut to = log.note(Box::new(Command(command)));
            let text = vec![b'a'; (1 << 20) + 100];
            to.write_all(&text).unwrap();
            let count: usize = taken.try_iter().map(|chunk| chunk.len()).sum();
            assert_eq!((count, log.bytes()), (text.len(), text.len() as u64));
            // A command that reads no more is sent nothing.
            drop(taken);
            assert!(to.write(b"more").is_err());
            assert_eq!(log.bytes(), text.len() as u64);
            let size = fs::metadata(dir.path().join(FILE))
                .ok()
                .map(|file| file.len());
            assert_eq!(size, kept);
        }
    }
}
