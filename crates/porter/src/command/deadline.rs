//! The deadline of a command, which PID 1 keeps: it holds when the launcher is killed or
//! stopped (FLT-27).
//!
//! ```text
//! run → PID 1    signal, with the milliseconds that the command may take
//! PID 1 → run    the same signal, without a value: the deadline holds
//! ```
//!
//! `run` sends it right before it becomes the command, so the time begins there however the
//! process was started. A signal needs no descriptor, no path and no help of the engine.
//!
//! The agent has PID 1's uid, so it can send the signal too: a later deadline never replaces an
//! earlier one, and the agent can only shorten its time. PID 1 makes itself undumpable before it
//! answers, so the agent can't attach to it as a debugger and write to its memory
//! (`man 2 ptrace`). A command without a deadline has PID 1 do that too ([`hide`]), by a time that
//! no clock reaches: PID 1 keeps no deadline then, and does not answer.

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use rustix::process::{DumpableBehavior, Pid, test_kill_process};

use crate::processes::first_is_porter;
use crate::syscall::{BlockedSignals, Received, queue_signal};

/// How much later than the launcher PID 1 acts: a launcher that lives ends the command itself,
/// and an engine on a busy machine takes as long to carry that out.
const MARGIN: Duration = Duration::from_secs(2);

/// From SIGTERM to SIGKILL; the launcher's is as long.
pub(crate) const GRACE: Duration = Duration::from_secs(15);

/// No deadline: no clock of this machine reaches it.
const FOREVER: Duration = Duration::from_secs(1 << 40);

/// How long PID 1 may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait for an answer before the signal is sent again.
const AGAIN: Duration = Duration::from_millis(100);

/// Why the deadline was not set.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DeadlineError {
    /// PID 1 is another program.
    #[error("cannot set the deadline: PID 1 is no porter")]
    NoContainer,
    /// PID 1 did not answer.
    #[error("cannot set the deadline: PID 1 does not answer")]
    Unanswered,
    /// The end of the container came first.
    #[error("cannot set the deadline: a signal ended it")]
    Ended,
    /// A system call failed.
    #[error("cannot set the deadline: {0}")]
    Call(#[from] io::Error),
}

/// The signal, of those that are queued and carry a value (`man 7 signal`).
fn signal() -> i32 {
    libc::SIGRTMIN() + 5
}

/// Has PID 1 end the command that this process becomes, unless that ends within `timeout`.
/// Every signal is blocked afterwards.
///
/// # Errors
/// See [`DeadlineError`]: then the command must not start.
pub(crate) fn set(timeout: Duration) -> Result<(), DeadlineError> {
    // Another PID 1 may take the signal for something else.
    if !first_is_porter()? {
        return Err(DeadlineError::NoContainer);
    }
    let signals = BlockedSignals::all()?;
    let millis = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        match queue_signal(Pid::INIT.as_raw_pid(), signal(), millis) {
            Ok(()) => {}
            // The queue is full: it is the user's, so another container may have filled it.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
        let sent = Instant::now();
        while let Some(left) = AGAIN.checked_sub(sent.elapsed()) {
            match signals.wait(left)? {
                Some(received) if is_answer(received) => return Ok(()),
                Some(received) if ends(received) => return Err(DeadlineError::Ended),
                Some(_) | None => {}
            }
        }
    }
    Err(DeadlineError::Unanswered)
}

/// Has PID 1 make itself undumpable, for a command that has no deadline. Every signal is blocked
/// afterwards.
///
/// # Errors
/// See [`DeadlineError`]: then the command must not start.
pub(crate) fn hide() -> Result<(), DeadlineError> {
    if !first_is_porter()? {
        return Err(DeadlineError::NoContainer);
    }
    let signals = BlockedSignals::all()?;
    let millis = u64::try_from(FOREVER.as_millis()).unwrap_or(u64::MAX);
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        // Another process may have asked for it. The link is read by who may attach only.
        if fs::read_link("/proc/1/exe").is_err() {
            return Ok(());
        }
        match queue_signal(Pid::INIT.as_raw_pid(), signal(), millis) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
        let patience = Duration::from_millis(1).max(start.elapsed()).min(AGAIN);
        if signals.wait(patience)?.is_some_and(ends) {
            return Err(DeadlineError::Ended);
        }
    }
    Err(DeadlineError::Unanswered)
}

fn is_answer(received: Received) -> bool {
    received.signal == signal() && received.sender == Pid::INIT.as_raw_pid()
}

fn ends(received: Received) -> bool {
    [libc::SIGTERM, libc::SIGINT, libc::SIGHUP].contains(&received.signal)
}

/// Whether a signal says that there is no deadline.
fn is_endless(received: Received) -> bool {
    let millis = received.value.unwrap_or_default();
    Duration::from_millis(millis) >= FOREVER
}

/// When the command is to be ended, as PID 1 keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deadline {
    at: Instant,
    /// The process that asked for it: it has become the command.
    command: i32,
}

impl Deadline {
    /// Takes what a signal says of the deadline, if it says anything, and answers it.
    pub(crate) fn hear(deadline: &mut Option<Self>, received: Received) {
        if !Self::take(deadline, received) {
            return;
        }
        let hidden = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
        // No other process waits for an answer, which would end it.
        if hidden.is_ok()
            && !is_endless(received)
            && let Some(Self { command, .. }) = *deadline
            && command > 0
            && command == received.sender
        {
            // Without an answer it asks again.
            let _gone = queue_signal(command, signal(), 0);
        }
    }

    /// Returns whether the signal was about the deadline.
    fn take(deadline: &mut Option<Self>, received: Received) -> bool {
        let Some(millis) = received.value.filter(|_| received.signal == signal()) else {
            return false;
        };
        if is_endless(received) {
            return true;
        }
        let timeout = Duration::from_millis(millis);
        let at = Instant::now() + timeout + MARGIN;
        let first = deadline.get_or_insert(Self {
            at,
            command: received.sender,
        });
        first.at = first.at.min(at);
        true
    }

    /// When SIGTERM is due, on the monotonic clock: a suspended machine does not count (FLT-23).
    pub(crate) fn at(self) -> Instant {
        self.at
    }

    /// When SIGKILL is due.
    pub(crate) fn kill_at(self) -> Instant {
        self.at + GRACE
    }

    /// Whether the command still runs.
    pub(crate) fn is_running(self) -> bool {
        // The agent may claim any sender.
        let command = (self.command > 0).then(|| Pid::from_raw(self.command));
        (command.flatten()).is_some_and(|command| test_kill_process(command).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(deadline: &mut Option<Deadline>, value: Option<u64>) {
        let received = Received {
            signal: signal(),
            sender: 7,
            value,
        };
        assert_eq!(Deadline::take(deadline, received), value.is_some());
    }

    #[test]
    fn flt_27_a_deadline_can_only_be_shortened() {
        let mut deadline = None;
        heard(&mut deadline, None);
        assert_eq!(deadline, None, "a signal without a value says nothing");
        heard(&mut deadline, Some(60_000));
        let first = deadline.expect("it is set");
        for longer in [60_000, 3_600_000, u64::MAX] {
            heard(&mut deadline, Some(longer));
            assert_eq!(deadline, Some(first), "{longer}");
        }
        heard(&mut deadline, Some(10));
        let shorter = deadline.expect("it is set");
        assert!(shorter.at() < first.at());
        assert_eq!(shorter.kill_at() - shorter.at(), GRACE);
    }

    /// So a process without a limit that comes first does not take the command's answer.
    #[test]
    fn flt_27_no_deadline_is_none() {
        let endless = u64::try_from(FOREVER.as_millis()).expect("it fits");
        let mut deadline = None;
        for endless in [endless, u64::MAX] {
            heard(&mut deadline, Some(endless));
            assert_eq!(deadline, None);
        }
        heard(&mut deadline, Some(endless - 1));
        assert!(deadline.is_some());
    }

    #[test]
    fn flt_27_another_signal_sets_no_deadline() {
        let mut deadline = None;
        let received = Received {
            signal: libc::SIGUSR1,
            sender: 0,
            value: Some(1),
        };
        assert!(!Deadline::take(&mut deadline, received));
        assert_eq!(deadline, None);
    }
}
