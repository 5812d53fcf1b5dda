//! The streams of a process that PID 1 started, and how it ended.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::connection::{Connection, Entry};
use crate::{EngineError, Process, ProcessControl, WhenAbandoned};

/// From one signal to the next for a process that its host has let go of.
const PATIENCE: Duration = Duration::from_secs(5);

/// What ends such a process: SIGHUP, SIGTERM, SIGKILL.
const ESCALATION: [i32; 3] = [1, 15, 9];

/// A process that PID 1 started.
#[derive(Debug)]
pub(super) struct Handed {
    pub(super) connection: Arc<Connection>,
    pub(super) entry: Arc<Entry>,
    pub(super) when_abandoned: WhenAbandoned,
}

/// Puts a process together.
pub(super) fn process(handed: Handed, stdin: Option<File>, stdout: File, stderr: File) -> Process {
    let output = |pipe| {
        Box::new(Output {
            pipe,
            entry: Arc::clone(&handed.entry),
            left: None,
        })
    };
    Process {
        stdin: stdin.map(|stdin| Box::new(stdin) as Box<dyn io::Write + Send>),
        stdout: output(stdout),
        stderr: output(stderr),
        control: Box::new(handed),
    }
}

/// Reads what the process writes: until it has ended, as others may have its streams for longer.
struct Output {
    pipe: File,
    entry: Arc<Entry>,
    /// What may still come once it has ended, in bytes: as much as a pipe holds.
    left: Option<usize>,
}

impl Read for Output {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let most = match self.left {
                None => {
                    self.await_more()?;
                    buffer.len()
                }
                Some(left) => left.min(buffer.len()),
            };
            match self.pipe.read(buffer.get_mut(..most).unwrap_or_default()) {
                Ok(length) => {
                    self.left = self.left.map(|left| left.saturating_sub(length));
                    return Ok(length);
                }
                // A process inside has read what was there: a pipe can be opened again.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.left.is_some() {
                        return Ok(0);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl Output {
    /// Waits until something is there, or the process has ended.
    fn await_more(&mut self) -> io::Result<()> {
        let mut ready = [
            PollFd::new(&self.pipe, PollFlags::IN),
            PollFd::from_borrowed_fd(self.entry.ended(), PollFlags::IN),
        ];
        while let Err(error) = poll(&mut ready, None) {
            if error != Errno::INTR {
                return Err(error.into());
            }
        }
        if !ready[1].revents().is_empty() {
            // What it wrote, it wrote before it ended.
            self.left = Some(rustix::pipe::fcntl_getpipe_size(&self.pipe)?);
        }
        Ok(())
    }
}

impl ProcessControl for Handed {
    fn wait(&self) -> Result<i32, EngineError> {
        let code = self.entry.code_within(None).unwrap_or(Ok(0));
        code.map_err(|error| EngineError::Lost {
            verb: "wait for process",
            message: error.to_string(),
        })
    }

    fn signal(&self, signal: i32) -> Result<(), EngineError> {
        let sent = self.connection.signal(&self.entry, signal);
        sent.map_err(|error| EngineError::Lost {
            verb: "signal process",
            message: error.to_string(),
        })
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        let runs = self.entry.code_within(Some(Duration::ZERO)).is_none();
        if self.when_abandoned == WhenAbandoned::Leave || !runs {
            return;
        }
        let (connection, entry) = (Arc::clone(&self.connection), Arc::clone(&self.entry));
        // If this process ends first, the hang-up ends all of them.
        let ending = thread::Builder::new().name("lazaret-abandoned".to_owned());
        drop(ending.spawn(move || {
            for signal in ESCALATION {
                if connection.signal(&entry, signal).is_err()
                    || entry.code_within(Some(PATIENCE)).is_some()
                {
                    return;
                }
            }
        }));
    }
}
