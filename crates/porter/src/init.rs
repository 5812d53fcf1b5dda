//! `porter init`: PID 1 of every container.
//!
//! Everything else comes by the engine's exec, but for one process, which may be handed in at
//! its [`door`](crate::door). It reaps what is orphaned, and ends the container in order when it is told so from outside. The kernel
//! shields PID 1 from signals it has no handler for, and kills the whole namespace when
//! PID 1 ends (`man 7 pid_namespaces`).

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use rustix::process::{Pid, WaitOptions, WaitStatus, wait};

use crate::door::Door;
use crate::oom;
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

/// Runs until SIGTERM from outside has ended every process; the engine's SIGKILL ends those
/// that do not obey.
pub(crate) fn run() -> ExitCode {
    match supervise() {
        Ok(()) if oom::kills() > 0 => ExitCode::from(crate::OUT_OF_MEMORY),
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            crate::complain(&format!("init: {error}"));
            ExitCode::from(crate::FAILED)
        }
    }
}

fn supervise() -> io::Result<()> {
    let signals = BlockedSignals::all()?;
    let mut door = Door::open();
    let mut phase = Phase::Idle;
    loop {
        reap(|pid, status| door.ended(pid, status));
        door.look();
        if phase == Phase::Ending && everyone_is_gone() {
            return Ok(());
        }
        let timeout = match phase {
            Phase::Idle => IDLE,
            Phase::Ending => POLL,
        };
        let Some(received) = signals.wait(timeout)? else {
            continue;
        };
        // A process inside may not end the session by signalling PID 1, be it by accident
        // (`kill -1`): only senders outside this pid namespace are shown as pid 0.
        if received.signal == libc::SIGTERM && received.sender == 0 {
            if !is_first() {
                // Someone shares the host's pid namespace with us: everyone would be
                // everyone on the host.
                return Ok(());
            }
            phase = Phase::Ending;
            // ESRCH: there is nobody; EPERM: nobody whom we may signal. Either way the
            // next round decides.
            let _nobody = signal_everyone(libc::SIGTERM);
        }
    }
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
