//! `Process`: a process in a container, and what it is started with.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read, Write};

pub use lazaret_protocol::{TerminalSize, WhenAbandoned};

use crate::EngineError;

/// Whether a process gets a pseudo terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminal {
    /// No: stdout and stderr are separate byte streams.
    None,
    /// Yes, of this size: everything arrives on stdout.
    Allocated(TerminalSize),
}

/// Whether a process can be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdin {
    /// Its stdin is empty.
    Closed,
    /// Its stdin is [`Process::stdin`].
    Piped,
}

/// A process to start in a running container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecSpec {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Environment, in addition to the container's.
    pub env: BTreeMap<crate::EnvName, String>,
    /// An absolute path inside; `None` for the container's own.
    pub workdir: Option<String>,
    /// Stdin.
    pub stdin: Stdin,
    /// Terminal.
    pub terminal: Terminal,
    /// What becomes of it once its [`Process`] is dropped.
    pub when_abandoned: WhenAbandoned,
}

impl ExecSpec {
    /// Returns a spec without further environment, directory or terminal, of a process that goes
    /// on when it is let go of.
    pub fn new(argv: Vec<String>, stdin: Stdin) -> Self {
        Self {
            argv,
            env: BTreeMap::new(),
            workdir: None,
            stdin,
            terminal: Terminal::None,
            when_abandoned: WhenAbandoned::Leave,
        }
    }
}

/// A started process: its three streams and the means to end it.
///
/// Dropping the streams closes our end only. Dropping all of it ends a process that was started
/// with [`WhenAbandoned::End`]: its session gets SIGHUP, after 5 s SIGTERM, after another 5 s
/// SIGKILL. Any other goes on until its container is stopped.
pub struct Process {
    /// Takes what the process reads; dropping it is end of file. `None` for [`Stdin::Closed`].
    pub stdin: Option<Box<dyn Write + Send>>,
    /// What the process writes. A connection that breaks is an error, never an end of file.
    pub stdout: Box<dyn Read + Send>,
    /// What the process writes to stderr; empty with a terminal.
    pub stderr: Box<dyn Read + Send>,
    /// Waits, resizes and signals.
    pub control: Box<dyn ProcessControl>,
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").finish_non_exhaustive()
    }
}

/// What can be done with a started process besides its streams.
pub trait ProcessControl: Send + Sync {
    /// Waits until the process has ended and returns its exit code (128 + n for a signal).
    ///
    /// Read stdout and stderr to their ends first, or on other threads.
    ///
    /// # Errors
    /// When the engine no longer answers.
    fn wait(&self) -> Result<i32, EngineError>;

    /// Tells the pseudo terminal its new size.
    ///
    /// # Errors
    /// When the process has none, or its seat is lost.
    fn resize(&self, _size: TerminalSize) -> Result<(), EngineError> {
        Err(EngineError::Unsupported {
            verb: "resize terminal",
            reason: "this process has none",
        })
    }

    /// Signals every process of the session that the process leads.
    ///
    /// # Errors
    /// When the engine, which started it without a seat, can't.
    fn signal(&self, _signal: i32) -> Result<(), EngineError> {
        Err(EngineError::Unsupported {
            verb: "signal process",
            reason: "an engine signals containers only",
        })
    }
}
