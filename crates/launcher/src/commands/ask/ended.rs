//! How a turn ended.

use std::time::Duration;

/// How a turn ended, and what it printed.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) run: u64,
    pub(super) session: String,
    pub(super) answer: Option<String>,
    /// Of the process; `None` if it goes on, or was ended for its answer.
    pub(super) exit_code: Option<u8>,
    pub(super) timed_out: bool,
    pub(super) truncated: bool,
    /// Of stdout and stderr.
    pub(super) bytes: [u64; 2],
    pub(super) spill: Vec<String>,
    pub(super) duration: Duration,
}
