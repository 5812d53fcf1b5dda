//! PID 1: `porter init`, and the channel by which the launcher starts processes.

mod channel;
pub(crate) mod init;
pub(crate) mod spawn;
