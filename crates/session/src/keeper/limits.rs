//! `Limits`: how long a kept session may do nothing, and how long it may last.

use std::time::Duration;

/// How long; `None` for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Without a driver, a process beside the command, or a byte from the command.
    pub idle: Option<Duration>,
    /// From the start of the command on.
    pub life: Option<Duration>,
}
