//! `LetGo`: ends a command whose host is gone.

use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::processes::{session, signal_session};

/// From one signal to the next.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the command's session gets, one after the other.
const SIGNALS: [i32; 3] = [libc::SIGHUP, libc::SIGTERM, libc::SIGKILL];

/// A session that is being ended.
#[derive(Debug)]
pub(super) struct LetGo {
    leader: i32,
    sent: usize,
    next: Instant,
}

impl LetGo {
    pub(super) fn new(leader: Pid) -> Self {
        Self {
            leader: leader.as_raw_nonzero().get(),
            sent: 0,
            next: Instant::now(),
        }
    }

    /// Sends the signal that is due. Returns false once no process is left to signal, or all
    /// signals were sent.
    pub(super) fn go_on(&mut self) -> bool {
        if session(self.leader).is_empty() {
            return false;
        }
        if Instant::now() < self.next {
            return true;
        }
        let Some(signal) = SIGNALS.get(self.sent) else {
            return false;
        };
        signal_session(self.leader, *signal);
        self.sent += 1;
        self.next += PATIENCE;
        true
    }
}
