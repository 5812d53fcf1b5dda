//! `Limits`: how long a kept session may do nothing, how long it may last, and what it may hold.

use std::time::Duration;

use crate::lifecycle::disk_limits::DiskLimits;

/// How long, `None` for ever; and how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Without a driver, a process beside the command, or a byte from the command.
    pub idle: Option<Duration>,
    /// From the start of the command on.
    pub life: Option<Duration>,
    /// What its volume may hold.
    pub disk: DiskLimits,
}
