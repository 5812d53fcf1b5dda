//! `porter init`: PID 1 of every container.
//!
//! Everything else comes by the engine's exec, but for one process, which may be handed in at
//! its [`door`](crate::pid1::channel). It reaps what is orphaned, and ends the container in order when it
//! is told so from outside, or when the command's [`deadline`](crate::command::deadline) has passed. The
//! kernel shields PID 1 from signals it has no handler for, and kills the whole namespace when
//! PID 1 ends (`man 7 pid_namespaces`).

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use lazaret_protocol::exit;
use rustix::process::{Pid, WaitOptions, WaitStatus, wait};

use crate::command::deadline::Deadline;
use crate::command::oom;
use crate::pid1::channel::Channel;
use crate::syscall::{BlockedSignals, signal_everyone};

/// How often to look whether everyone is gone, once the end was asked for. Processes that
/// came by exec are not our children, so nothing tells us when they end.
const POLL: Duration = Duration::from_millis(10);

/// How long to sleep without any signal.
const IDLE: Duration = Duration::from_secs(3600);

/// What PID 1 is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Waiting for orphans and for the order to end.
    Idle,
    /// Everyone was asked to end.
    Ending,
}

/// Why everyone was asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// SIGTERM from outside, or a deadline of a command that had ended before.
    Asked,
    /// The command's time was up.
    TimedOut,
}

/// Runs until SIGTERM from outside, or the command's deadline, has ended every process. The
/// engine's SIGKILL ends those that do not obey, or this process does by ending.
pub(crate) fn run() -> ExitCode {
    match supervise() {
        Ok(cause) => ExitCode::from(match (cause, oom::kills() > 0) {
            (Cause::Asked, false) => 0,
            (Cause::Asked, true) => exit::OUT_OF_MEMORY,
            (Cause::TimedOut, false) => exit::TIMED_OUT,
            (Cause::TimedOut, true) => exit::TIMED_OUT_AND_OUT_OF_MEMORY,
        }),
        Err(error) => {
            crate::report_error(&format!("init: {error}"));
            ExitCode::from(exit::FAILED)
        }
    }
}

fn supervise() -> io::Result<Cause> {
    let signals = BlockedSignals::all()?;
    let mut door = Channel::open();
    let mut phase = Phase::Idle;
    let mut cause = Cause::Asked;
    let mut deadline: Option<Deadline> = None;
    loop {
        reap(|pid, status| door.ended(pid, status));
        door.look();
        // In each round: an agent that floods PID 1 with signals must not hold the clock up.
        let now = Instant::now();
        let is_due = deadline.is_some_and(|deadline| deadline.at() <= now);
        if phase == Phase::Idle && is_due {
            if deadline.is_some_and(Deadline::is_running) {
                cause = Cause::TimedOut;
            }
            if !end_everyone() {
                return Ok(cause);
            }
            phase = Phase::Ending;
        }
        if phase == Phase::Ending && everyone_is_gone() {
            return Ok(cause);
        }
        if deadline.is_some_and(|deadline| deadline.kill_at() <= now) {
            // The kernel kills those that are left.
            return Ok(cause);
        }
        let timeout = match (phase, deadline) {
            (Phase::Idle, None) => IDLE,
            (Phase::Idle, Some(deadline)) => deadline.at().duration_since(now).min(IDLE),
            (Phase::Ending, _) => POLL,
        };
        let Some(received) = signals.wait(timeout)? else {
            continue;
        };
        Deadline::hear(&mut deadline, received);
        // A process inside may not end the session by signalling PID 1, be it by accident
        // (`kill -1`): only senders outside this pid namespace are shown as pid 0.
        if received.signal == libc::SIGTERM && received.sender == 0 {
            if !end_everyone() {
                return Ok(cause);
            }
            phase = Phase::Ending;
        }
    }
}

/// Asks every other process to end. Returns false if this process is not the first of its
/// namespace: then everyone would be everyone on the host, and nothing is sent.
fn end_everyone() -> bool {
    if !is_first() {
        return false;
    }
    // ESRCH: there is no process; EPERM: none that PID 1 may signal. Either way the
    // next round decides.
    let _none_left = signal_everyone(libc::SIGTERM);
    true
}

/// Takes the exit status of every child that has ended.
fn reap(mut tell: impl FnMut(Pid, WaitStatus)) {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => tell(pid, status),
            Err(rustix::io::Errno::INTR) => {}
            Ok(None) | Err(_) => return,
        }
    }
}

fn is_first() -> bool {
    rustix::process::getpid().is_init()
}

fn everyone_is_gone() -> bool {
    match signal_everyone(0) {
        Ok(()) => false,
        Err(error) => error.raw_os_error() == Some(libc::ESRCH),
    }
}
