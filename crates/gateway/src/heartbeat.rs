//! `LauncherInput`: the lines of the launcher, and the heartbeat that they are.

use std::io::{self, BufRead, Read as _};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use zeroize::Zeroizing;

/// The longest configuration or update, in bytes.
const LONGEST_LINE: u64 = 16 << 20;

/// How many polls in a row have to find no line before the heartbeat is lost.
///
/// Polls are counted, and the time between two is only waited for: a suspended machine does
/// not poll, and a clock that leaps when it resumes, as that of a virtual machine may, ends
/// one poll.
const POLLS: u32 = 30;

/// Why there is no next line.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A line is not what was expected. Its content is not repeated: it may be a key.
    #[error("a line of the input is no {expected}, or longer than {LONGEST_LINE} bytes")]
    Line {
        /// What it should have been.
        expected: &'static str,
    },
    /// The launcher has gone, or is paused.
    #[error("no heartbeat from the launcher for {after:?}")]
    Silence {
        /// For how long.
        after: Duration,
    },
}

/// The lines of the launcher, read on a thread of their own.
#[derive(Debug)]
pub(crate) struct LauncherInput {
    lines: Receiver<Zeroizing<Vec<u8>>>,
    timeout: Duration,
}

impl LauncherInput {
    /// Starts to read. The thread ends with `from`, or if this value is dropped and another
    /// line comes.
    pub(crate) fn follow(
        from: impl BufRead + Send + 'static,
        timeout: Duration,
    ) -> io::Result<Self> {
        let (sender, lines) = mpsc::sync_channel(1);
        let thread = thread::Builder::new().name("input".to_owned());
        thread.spawn(move || read(from, &sender))?;
        Ok(Self { lines, timeout })
    }

    /// Returns the next line that is not empty; `None` at the end of the input. An empty line is
    /// a heartbeat. Lines are wiped: they may hold keys.
    ///
    /// # Errors
    ///
    /// A line is no `expected`, or for the timeout there was none at all (NET-23).
    pub(crate) fn next<T: serde::de::DeserializeOwned>(
        &self,
        expected: &'static str,
    ) -> Result<Option<T>, InputError> {
        let mut quiet = 0;
        while quiet < POLLS {
            match self.lines.recv_timeout(self.timeout / POLLS) {
                Ok(line) if line.as_slice() == b"\n" => quiet = 0,
                Ok(line) => {
                    let whole = line.ends_with(b"\n");
                    let value = serde_json::from_slice(&line).ok().filter(|_| whole);
                    return value.map(Some).ok_or(InputError::Line { expected });
                }
                Err(RecvTimeoutError::Timeout) => quiet += 1,
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
        Err(InputError::Silence {
            after: self.timeout,
        })
    }
}

fn read(mut from: impl BufRead, sender: &SyncSender<Zeroizing<Vec<u8>>>) {
    loop {
        let mut line = Zeroizing::new(Vec::new());
        match (&mut from).take(LONGEST_LINE).read_until(b'\n', &mut line) {
            // A launcher that has gone ends the input in either way.
            Ok(0) | Err(_) => return,
            Ok(_) if sender.send(line).is_err() => return,
            Ok(_) => {}
        }
    }
}
