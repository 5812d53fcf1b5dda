//! The streams that a `Ui` speaks through.

use std::fmt;
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lazaret_session::cancel::Cancel;

use super::interruptible_writer::InterruptibleWriter;
use super::terminal::key_mode::KeyMode;

/// The three streams.
pub struct Streams {
    /// Answers come from here.
    pub stdin: Box<dyn BufRead + Send>,
    /// Results go here.
    pub stdout: Box<dyn Write + Send>,
    /// Everything else goes here.
    pub stderr: Box<dyn Write + Send>,
    /// Throws away what was typed before a question was asked: bytes that the command
    /// made the terminal "type" must not answer it.
    pub discard_typeahead: fn(),
    /// Has the terminal on stdin pass keys as they are typed; `None` where there is none.
    pub keys: fn() -> Option<KeyMode>,
}

impl fmt::Debug for Streams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").finish_non_exhaustive()
    }
}

impl Streams {
    /// The streams of the process. What is written waits for its reader until
    /// `cancel` is raised.
    pub fn of_process(cancel: &Cancel) -> Self {
        Self {
            stdin: Box::new(io::BufReader::new(io::stdin())),
            stdout: Box::new(InterruptibleWriter::new(io::stdout(), cancel)),
            stderr: Box::new(InterruptibleWriter::new(io::stderr(), cancel)),
            discard_typeahead: || {
                // Not a terminal: nothing was typed.
                let _ =
                    rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
            },
            keys: KeyMode::enter,
        }
    }
}

/// One of the two output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A stream, and the first thing that went wrong with it.
pub(super) struct Sink {
    pub(super) stream: Box<dyn Write + Send>,
    pub(super) failed: Option<io::Error>,
}

impl Sink {
    /// Writes and flushes. After the first error the sink stays silent.
    pub(super) fn write(&mut self, text: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        if let Err(error) = self
            .stream
            .write_all(text)
            .and_then(|()| self.stream.flush())
        {
            self.failed = Some(error);
        }
    }
}

/// Returns what a mutex guards, also after a panic.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes raw bytes to a stream of the [`Ui`](super::Ui). A reader that went away swallows them.
#[derive(Clone)]
pub struct UiWriter(Arc<Mutex<Sink>>);

impl fmt::Debug for UiWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UiWriter").finish_non_exhaustive()
    }
}

impl UiWriter {
    pub(super) fn to(sink: &Arc<Mutex<Sink>>) -> Self {
        Self(sink.clone())
    }
}

impl Write for UiWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        locked(&self.0).write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
