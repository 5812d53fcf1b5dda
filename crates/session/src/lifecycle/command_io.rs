//! `CommandIo`: what a command is connected with, and who is told what becomes of it.

use std::fmt;
use std::io::{self, Write};

use lazaret_runtime::TerminalSize;

use crate::keeper::live::LiveContainer;
use crate::lifecycle::disk_limits::{DiskLimits, DiskState};
use crate::network::{OnDenied, PortBinding};
use crate::output::command_input::CommandInput;
use crate::services::status::ServiceChange;
use crate::store::SessionDir;
use crate::store::record::CommandEnd;

/// What of the user's machine is connected with the command.
#[derive(Debug)]
pub struct UserSide<'a> {
    /// Its streams.
    pub io: &'a dyn CommandIo,
    /// Ports that lead inside, until it ends.
    pub ports: Vec<PortBinding>,
}

/// The user's side of a command's streams.
pub trait CommandIo: Sync + fmt::Debug {
    /// Returns where stdout goes.
    fn stdout(&self) -> Box<dyn Write + Send>;
    /// Returns where stderr goes.
    fn stderr(&self) -> Box<dyn Write + Send>;
    /// Returns the terminal of a command that has one.
    fn terminal(&self) -> Option<CommandTerminal> {
        None
    }
    /// Returns where the stdin of a command comes from that has no terminal, and reads.
    fn stdin(&self) -> Option<Box<dyn CommandInput>> {
        None
    }
    /// Called before everything else: the command can be reached from here on, and has not
    /// started.
    ///
    /// # Errors
    /// The command does not start then.
    fn reachable(&self, _dir: &SessionDir, _live: LiveContainer) -> io::Result<()> {
        Ok(())
    }
    /// Returns who is told of connections that the gateway denies.
    fn on_denied(&self) -> Option<OnDenied> {
        None
    }
    /// Returns how much the session's volume may hold now; `None` if that is not watched.
    fn disk_limits(&self) -> Option<DiskLimits> {
        None
    }
    /// Called when the volume was counted, holds too much, or has room again.
    fn disk(&self, _state: DiskState) {}
    /// Called when a service is somewhere else than it was.
    fn service(&self, _change: ServiceChange) {}
    /// Called when the command starts.
    fn started(&self, _argv: &[String]) {}
    /// Called when the command has ended: its container stays until this returns, or it ends by
    /// itself, as `is_up` says.
    fn ended(&self, _end: &CommandEnd, _is_up: &dyn Fn() -> bool) {}
}

/// The user's side of a command's terminal.
pub struct CommandTerminal {
    /// Its size at the start.
    pub size: TerminalSize,
    /// Where keys and other sizes come from.
    pub input: Box<dyn CommandInput>,
}

impl fmt::Debug for CommandTerminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandTerminal")
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
