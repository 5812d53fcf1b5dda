//! `porter init`: PID 1 of every container.
//!
//! Every other process comes by the engine's exec, or over its [`channel`](crate::pid1::channel).
//! It reaps what is orphaned, and ends the container in order when it is told so from outside,
//! when the host hangs up the channel, or when the command's [`deadline`](crate::command::deadline)
//! has passed: SIGTERM to every process, and then it waits until all are gone. Without an engine
//! that kills them in time, it ends after [`GRACE`] itself. The kernel shields PID 1 from signals
//! it has no handler for, and kills the whole namespace when PID 1 ends (`man 7 pid_namespaces`).

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use lazaret_protocol::exit;
use rustix::process::{DumpableBehavior, Pid, WaitOptions, WaitStatus, wait};

use crate::command::deadline::{Deadline, GRACE};
use crate::command::{oom, stop};
use crate::pid1::channel::Channel;
use crate::syscall::{BlockedSignals, signal_everyone};

/// How often to look whether everyone is gone, once the end was asked for. Processes that
/// came by exec are not our children, so nothing tells us when they end.
const POLL: Duration = Duration::from_millis(10);

/// How long to sleep without any signal.
const IDLE: Duration = Duration::from_secs(3600);

/// How soon to try again what the host did not take.
const AGAIN: Duration = Duration::from_millis(50);

/// Why everyone was asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// SIGTERM from outside, a launcher that is gone, or a deadline of a command that had ended
    /// before.
    Asked,
    /// The command's time was up.
    TimedOut,
}

/// Everyone was asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shutdown {
    cause: Cause,
    /// When this process ends, and all others with it; `None` if that is left to the engine.
    kill_at: Option<Instant>,
}

/// Runs until SIGTERM from outside, a hang-up of the host, or the command's deadline has ended
/// every process. The engine's SIGKILL ends those that do not obey, or this process does by ending.
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
    // The probe looks at its descriptors, and the host takes one of them. The first command ends
    // that (`deadline`).
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    let signals = BlockedSignals::all()?;
    let mut channel = Channel::open();
    let mut shutdown: Option<Shutdown> = None;
    let mut deadline: Option<Deadline> = None;
    loop {
        reap(|pid, status| channel.ended(pid, status));
        channel.look();
        // In each round: an agent that floods PID 1 with signals must not hold the clock up.
        let now = Instant::now();
        if let Some(due) = due(deadline, &channel, now) {
            let kill_at = Some(due.kill_at.unwrap_or(now + GRACE));
            match &mut shutdown {
                Some(shutdown) => shutdown.kill_at = shutdown.kill_at.or(kill_at),
                None if !end_everyone() => return Ok(due.cause),
                None => {
                    let cause = due.cause;
                    shutdown = Some(Shutdown { cause, kill_at });
                }
            }
        }
        if let Some(Shutdown { cause, kill_at }) = shutdown
            && (everyone_is_gone() || kill_at.is_some_and(|kill_at| kill_at <= now))
        {
            // The kernel kills those that are left.
            return Ok(cause);
        }
        let timeout = match (shutdown, deadline) {
            (Some(_), _) => POLL,
            (None, _) if channel.has_unsent() => AGAIN,
            (None, Some(deadline)) => deadline.at().duration_since(now).min(IDLE),
            (None, None) => IDLE,
        };
        let Some(received) = signals.wait(timeout)? else {
            continue;
        };
        Deadline::hear(&mut deadline, received);
        if let Some(grace) = stop::grace(received) {
            if !end_everyone() {
                return Ok(Cause::Asked);
            }
            let kill_at = Instant::now().checked_add(grace);
            let shutdown = shutdown.get_or_insert(Shutdown {
                cause: Cause::Asked,
                kill_at,
            });
            shutdown.kill_at = [shutdown.kill_at, kill_at].into_iter().flatten().min();
        }
        // A process inside may not end the session by signalling PID 1, be it by accident
        // (`kill -1`): only senders outside this pid namespace are shown as pid 0.
        if received.signal == libc::SIGTERM && received.sender == 0 {
            if !end_everyone() {
                return Ok(Cause::Asked);
            }
            shutdown.get_or_insert(Shutdown {
                cause: Cause::Asked,
                // The engine's SIGKILL follows.
                kill_at: None,
            });
        }
    }
}

/// Returns why everyone is to end now, if that is so without a word from the engine.
fn due(deadline: Option<Deadline>, channel: &Channel, now: Instant) -> Option<Shutdown> {
    if let Some(deadline) = deadline.filter(|deadline| deadline.at() <= now) {
        let cause = match deadline.is_running() {
            true => Cause::TimedOut,
            false => Cause::Asked,
        };
        let kill_at = Some(deadline.kill_at());
        return Some(Shutdown { cause, kill_at });
    }
    let (cause, kill_at) = (Cause::Asked, None);
    channel.has_hung_up().then_some(Shutdown { cause, kill_at })
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
