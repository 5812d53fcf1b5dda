//! Exit codes of the porter: of its own failures, and of `porter init`.
//!
//! Every other code is that of the command it became.

/// A verb could not do its work.
pub const FAILED: u8 = 125;

/// The command was found, but can't be executed.
pub const NOT_EXECUTABLE: u8 = 126;

/// The command was not found.
pub const NOT_FOUND: u8 = 127;

/// `porter init`: the kernel's OOM killer was in the container. Engines tell it of the first
/// process only.
pub const OUT_OF_MEMORY: u8 = 37;

/// `porter init`: it ended the command at its deadline, because the launcher was stopped or
/// killed and could not.
pub const TIMED_OUT: u8 = 38;

/// `porter init`: both.
pub const TIMED_OUT_AND_OUT_OF_MEMORY: u8 = 39;
