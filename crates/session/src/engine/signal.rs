//! Numbers of signals: the same on every Linux (signal(7)), also behind macOS.

/// Says that the terminal, or who was behind it, is gone.
pub(crate) const SIGHUP: i32 = 1;

/// Asks a process to end.
pub(crate) const SIGTERM: i32 = 15;

/// Ends a process at once.
pub(crate) const SIGKILL: i32 = 9;
