//! The streams of a process that was handed in, and how it ended.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use lazaret_protocol::init::{InitNotice, LONGEST_NOTICE};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::{EngineError, Process, ProcessControl, TerminalSize};

/// What the kernel ends every process of a container with when its first one is gone
/// (`man 7 pid_namespaces`).
const KILLED: i32 = 128 + 9;

/// Where the first process says how the other one ended.
#[derive(Debug)]
pub(super) struct ExitReply {
    channel: OwnedFd,
    /// What it said.
    code: Mutex<Option<i32>>,
}

impl ExitReply {
    pub(super) fn new(channel: OwnedFd) -> Self {
        Self {
            channel,
            code: Mutex::new(None),
        }
    }

    /// Waits for it.
    fn code(&self) -> io::Result<i32> {
        let mut known = self.code.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = *known {
            return Ok(code);
        }
        let mut word = [0; LONGEST_NOTICE];
        let length = loop {
            match recv(&self.channel, &mut word[..], RecvFlags::empty()) {
                Ok((_, length)) => break length,
                Err(Errno::INTR) => {}
                Err(Errno::CONNRESET) => break 0,
                Err(error) => return Err(error.into()),
            }
        };
        let code = match word.get(..length).unwrap_or_default() {
            [] => KILLED,
            said => match InitNotice::parse(said) {
                Some(InitNotice::Ended { code }) => code.into(),
                _ => return Err(io::ErrorKind::InvalidData.into()),
            },
        };
        *known = Some(code);
        Ok(code)
    }
}

/// Puts a process together.
pub(super) fn process(
    reply: ExitReply,
    stdin: Option<File>,
    stdout: File,
    stderr: File,
) -> Process {
    let reply = Arc::new(reply);
    let output = |pipe| {
        Box::new(Output {
            pipe,
            reply: Arc::clone(&reply),
            left: None,
        })
    };
    Process {
        stdin: stdin.map(|stdin| Box::new(stdin) as Box<dyn io::Write + Send>),
        stdout: output(stdout),
        stderr: output(stderr),
        control: Box::new(Control(reply)),
    }
}

/// Reads what the process writes: until it has ended, as others may have its streams for longer.
struct Output {
    pipe: File,
    reply: Arc<ExitReply>,
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
            PollFd::new(&self.reply.channel, PollFlags::IN),
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

struct Control(Arc<ExitReply>);

impl ProcessControl for Control {
    fn wait(&self) -> Result<i32, EngineError> {
        self.0.code().map_err(|error| EngineError::Lost {
            verb: "wait for process",
            message: error.to_string(),
        })
    }

    fn resize(&self, _size: TerminalSize) -> Result<(), EngineError> {
        Err(EngineError::Unsupported {
            verb: "resize terminal",
            reason: "this process has none",
        })
    }
}
