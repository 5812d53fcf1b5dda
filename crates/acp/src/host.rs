//! `Host`: what happens to the session behind an agent.

use std::fmt;

use crate::turn_end::TurnEnd;

/// The session, its workspace and its policy. Its methods are called from two threads.
pub trait Host: fmt::Debug + Send + Sync {
    /// Whether the agent may reach a host and port.
    fn allows(&self, host: &str, port: u16) -> bool;

    /// Resolves a path of the editor's machine; `None` if nothing is there.
    fn canonical(&self, path: &str) -> Option<String>;

    /// Sends what the user changed into the copy, before the agent gets a task. Returns what the
    /// user has to know.
    ///
    /// # Errors
    /// Says why the copy is not up to date; then the agent does not get the task.
    fn sync(&self) -> Result<Option<String>, String>;

    /// Looks at what the agent changed, when a turn has ended. Returns what the user has to know.
    fn turn_ended(&self, turn: &TurnEnd) -> Option<String>;

    /// The agent waits for an answer of the user's.
    fn needs_input(&self, text: &str);

    /// Says on the side what the protocol has no place for.
    fn note(&self, text: &str);

    /// The editor is gone. The agent has a moment to end by itself; then what it writes ends.
    fn hang_up(&self);
}
