//! `Process`: a process in a container, and what it is started with.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read, Write};

use crate::EngineError;

/// Columns and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Columns.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
}

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
}

impl ExecSpec {
    /// Returns a spec without further environment, directory or terminal.
    pub fn new(argv: Vec<String>, stdin: Stdin) -> Self {
        Self {
            argv,
            env: BTreeMap::new(),
            workdir: None,
            stdin,
            terminal: Terminal::None,
        }
    }
}

/// A started process: its three streams and the means to end it.
///
/// Dropping the streams closes our end only; the process is ended by stopping its
/// container.
pub struct Process {
    /// Takes what the process reads; dropping it is end of file. `None` for [`Stdin::Closed`].
    pub stdin: Option<Box<dyn Write + Send>>,
    /// What the process writes. A connection that breaks is an error, never an end of file.
    pub stdout: Box<dyn Read + Send>,
    /// What the process writes to stderr; empty with a terminal.
    pub stderr: Box<dyn Read + Send>,
    /// Waits and resizes.
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
    /// When the engine refuses.
    fn resize(&self, size: TerminalSize) -> Result<(), EngineError>;
}
