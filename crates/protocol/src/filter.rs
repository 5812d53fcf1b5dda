//! The word by which a container's environment has the porter filter system calls.
//!
//! An engine that takes no filter of ours still passes the environment on to PID 1 and to every
//! process that it starts. Each porter that finds [`VARIABLE`] installs the filter before it does
//! anything else, and takes the variable from what it starts.

/// The variable.
pub const VARIABLE: &str = "LAZARET_FILTER";

/// Its value: the profile of sessions, without any socket but Unix ones.
pub const UNIX_SOCKETS: &str = "unix-sockets";
