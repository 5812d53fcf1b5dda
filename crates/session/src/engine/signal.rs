//! Numbers of signals: the same on every Linux (signal(7)), also behind macOS.

/// Asks a process to end.
pub(crate) const SIGTERM: i32 = 15;

/// Ends a process at once.
pub(crate) const SIGKILL: i32 = 9;
