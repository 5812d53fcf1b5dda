//! `CommandOutputSink`: passes the command's output to the log and to the user, without secrets.
//!
//! The launcher filters what a terminal would obey before it shows the output on one.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use lazaret_egress::{Patterns, Scrubber};

use crate::lifecycle::supervise::Output;
use crate::store::run_log::LogFile;

/// Sends the command's output to the log and on to the user.
pub struct CommandOutputSink {
    log: LogFile,
    stdout: Mutex<Channel>,
    stderr: Mutex<Channel>,
}

struct Channel {
    to: Box<dyn Write + Send>,
    /// One behind the other: of what was known at the start, and of what came later.
    scrubbers: [Option<Scrubber>; 2],
}

impl std::fmt::Debug for CommandOutputSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Relay")
            .field("log", &self.log)
            .finish_non_exhaustive()
    }
}

impl CommandOutputSink {
    /// Joins a log with the two streams of the user.
    pub fn new(
        log: LogFile,
        stdout: Box<dyn Write + Send>,
        stderr: Box<dyn Write + Send>,
        patterns: Option<Patterns>,
    ) -> Self {
        let channel = |to| {
            Mutex::new(Channel {
                to,
                scrubbers: [patterns.clone().map(Scrubber::new), None],
            })
        };
        Self {
            log,
            stdout: channel(stdout),
            stderr: channel(stderr),
        }
    }

    /// Returns the log.
    pub fn log(&self) -> &LogFile {
        &self.log
    }
}

impl Output for CommandOutputSink {
    fn stdout(&self, chunk: &[u8]) {
        self.pass(&self.stdout, chunk);
    }

    fn stderr(&self, chunk: &[u8]) {
        self.pass(&self.stderr, chunk);
    }

    fn idle(&self) {
        self.finish();
    }
}

impl CommandOutputSink {
    /// Keeps more out of what passes from now on, instead of what was said so last.
    pub fn learn(&self, patterns: Patterns) {
        for channel in [&self.stdout, &self.stderr] {
            let mut channel = channel.lock().unwrap_or_else(PoisonError::into_inner);
            let before = channel.scrubbers[1].replace(Scrubber::new(patterns.clone()));
            if let Some(mut before) = before {
                let mut rest = Vec::new();
                before.finish(&mut rest);
                self.write(&mut channel, &rest);
            }
        }
    }

    /// Passes on what was held back because it could have become a secret. If the command has a
    /// terminal, this happens after each moment of silence, so that the user sees the last key.
    /// A secret that comes with pauses in it is not found then.
    pub fn finish(&self) {
        for channel in [&self.stdout, &self.stderr] {
            let mut channel = channel.lock().unwrap_or_else(PoisonError::into_inner);
            let mut rest = Vec::new();
            for scrubber in channel.scrubbers.iter_mut().flatten() {
                let mut clean = Vec::new();
                scrubber.push(&rest, &mut clean);
                scrubber.finish(&mut clean);
                rest = clean;
            }
            if !rest.is_empty() {
                self.write(&mut channel, &rest);
            }
        }
    }

    fn pass(&self, channel: &Mutex<Channel>, chunk: &[u8]) {
        let mut channel = channel.lock().unwrap_or_else(PoisonError::into_inner);
        let mut scrubbed: Option<Vec<u8>> = None;
        for scrubber in channel.scrubbers.iter_mut().flatten() {
            let mut clean = Vec::with_capacity(chunk.len());
            scrubber.push(scrubbed.as_deref().unwrap_or(chunk), &mut clean);
            scrubbed = Some(clean);
        }
        self.write(&mut channel, scrubbed.as_deref().unwrap_or(chunk));
    }

    fn write(&self, Channel { to, .. }: &mut Channel, chunk: &[u8]) {
        self.log.append(chunk);
        // A reader that went away ends nothing: the log has it all (FLT-18).
        drop(to.write_all(chunk).and_then(|()| to.flush()));
    }
}
