//! `porter hold`: stops every other process of the container while the launcher reads the volume.
//!
//! For engines that can't pause a container: rootless ones on cgroup v1 have no freezer. The
//! launcher starts it by exec, as the command's own user. On the first byte it stops every process
//! but PID 1, itself and its seat, and answers `held`. On [`freeze::END`] or the end of its input it
//! continues them and answers `released`. After [`HEARTBEAT_TIMEOUT`] without a byte it continues them
//! and fails, so a killed launcher does not stop them for long.
//!
//! It stops parents before their children and continues them after, so a shell with job control
//! never sees a stopped child. A process that was already stopped stays stopped.
//!
//! This is not a security control: the command can kill this process while it stops the others.
//! `porter thaw` then continues all of them.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use lazaret_protocol::freeze::{self, FreezeReply};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{DumpableBehavior, Pid, Signal, getpid, kill_process};

use crate::files::root;
use crate::processes::{ProcessInfo, RunState, first_is_porter, processes};
use crate::syscall::{BlockedSignals, signal_everyone};

/// How long the caller may send no byte. A caller sends several in that time.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(3);

/// How long the first byte may take: a caller starts the hold early and does other work first.
const PREPARED: Duration = Duration::from_secs(600);

/// How long it may take until every process is stopped.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a process in an uninterruptible wait counts as moving: a disk needs less, and
/// the parent of a `vfork` waits for as long as its child is stopped.
const UNINTERRUPTIBLE: Duration = Duration::from_millis(300);

/// Between two passes over the processes.
const PASS: Duration = Duration::from_millis(1);

/// Between two checks of signals and the clock, while holding.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

#[derive(Debug, thiserror::Error)]
enum FreezeError {
    #[error("this is no container of lazaret")]
    NoContainer,
    #[error("the processes can't be listed: {0}")]
    List(#[source] io::Error),
    #[error("process {pid} can't be stopped: {source}")]
    Signal { pid: i32, source: io::Error },
    #[error("process {pid} does not stand still")]
    Moving { pid: i32 },
    #[error("no heartbeat from the launcher for {} s", HEARTBEAT_TIMEOUT.as_secs())]
    Silence,
    #[error("a signal ended it")]
    Ended,
    #[error(transparent)]
    Pipe(#[from] io::Error),
}

/// Runs the verb.
pub(crate) fn freeze() -> ExitCode {
    crate::exit_with("hold", hold())
}

/// Runs `porter thaw` after a hold was killed: continues every stopped process, also those that
/// the command stopped.
pub(crate) fn unfreeze() -> ExitCode {
    crate::exit_with("thaw", continue_everybody())
}

fn continue_everybody() -> Result<(), FreezeError> {
    if !first_is_porter()? {
        return Err(FreezeError::NoContainer);
    }
    match signal_everyone(libc::SIGCONT) {
        // There is no other process.
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        other => Ok(other?),
    }
}

fn hold() -> Result<(), FreezeError> {
    if !first_is_porter()? {
        return Err(FreezeError::NoContainer);
    }
    // PID 1 sends SIGTERM to every process when the container is to end. A stopped process handles
    // it only once it continues.
    let signals = BlockedSignals::all()?;
    // Otherwise the agent, which has the same user, could write to these streams through /proc.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(io::Error::from)?;
    let mut caller = Caller {
        stdin: root::stdin()?,
        signals,
        heard: None,
    };
    if caller.wait_for_the_first()? == FreezeOrder::End {
        return Ok(());
    }
    let mut held = StoppedProcesses::default();
    held.everybody()?;
    let mut stdout = root::stdout()?;
    let processes = held.stopped.len();
    writeln!(stdout, "{}", FreezeReply::Frozen { processes })?;
    while caller.listen()? == FreezeOrder::Hold {}
    drop(held);
    writeln!(stdout, "{}", FreezeReply::Released)?;
    Ok(())
}

/// What was heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FreezeOrder {
    Hold,
    End,
}

/// The launcher, as heard on stdin.
struct Caller {
    stdin: std::fs::File,
    signals: BlockedSignals,
    /// When a byte came last; `None` before the first.
    heard: Option<Instant>,
}

impl Caller {
    /// Waits for the first byte, for [`PREPARED`] at most.
    fn wait_for_the_first(&mut self) -> Result<FreezeOrder, FreezeError> {
        let start = Instant::now();
        while start.elapsed() < PREPARED {
            let word = self.listen()?;
            if word == FreezeOrder::End || self.heard.is_some() {
                return Ok(word);
            }
        }
        Ok(FreezeOrder::End)
    }

    /// Listens for a moment.
    fn listen(&mut self) -> Result<FreezeOrder, FreezeError> {
        let mut ready = [PollFd::from_borrowed_fd(self.stdin.as_fd(), PollFlags::IN)];
        let count = match poll(&mut ready, Some(&TICK)) {
            Err(rustix::io::Errno::INTR) => 0,
            other => other.map_err(io::Error::from)?,
        };
        if let Some(signal) = self.signals.wait(Duration::ZERO)?
            && [libc::SIGTERM, libc::SIGINT, libc::SIGHUP].contains(&signal.signal)
        {
            return Err(FreezeError::Ended);
        }
        if count > 0 {
            let mut bytes = [0; 64];
            let length = self.stdin.read(&mut bytes)?;
            if length == 0 || bytes[..length].contains(&freeze::END) {
                return Ok(FreezeOrder::End);
            }
            self.heard = Some(Instant::now());
        }
        match self.heard {
            Some(heard) if heard.elapsed() > HEARTBEAT_TIMEOUT => Err(FreezeError::Silence),
            _ => Ok(FreezeOrder::Hold),
        }
    }
}

/// The processes that this hold stopped, parents first. Dropping it continues them.
#[derive(Default)]
struct StoppedProcesses {
    stopped: Vec<Pid>,
}

impl StoppedProcesses {
    /// Stops every process. Ends after two passes in a row that find none running, since a running
    /// process can start others.
    fn everybody(&mut self) -> Result<(), FreezeError> {
        let start = Instant::now();
        let mut quiet = 0;
        while quiet < 2 {
            match self.pass(start.elapsed())? {
                None => quiet += 1,
                Some(pid) if start.elapsed() > PATIENCE => {
                    let pid = pid.as_raw_pid();
                    return Err(FreezeError::Moving { pid });
                }
                Some(_) => {
                    quiet = 0;
                    std::thread::sleep(PASS);
                }
            }
        }
        Ok(())
    }

    /// Stops the running processes, and returns one of them.
    fn pass(&mut self, since: Duration) -> Result<Option<Pid>, FreezeError> {
        let me = getpid();
        let seen = processes().map_err(FreezeError::List)?;
        // A seat that carries the streams of this process is its parent.
        let above = ancestors(&seen, me);
        let mut moving = None;
        for seen in parents_first(seen) {
            let counts = match seen.run_state {
                RunState::Still => continue,
                RunState::Waiting => since < UNINTERRUPTIBLE,
                RunState::Moving => true,
            };
            if seen.pid.is_init() || seen.pid == me || above.contains(&seen.pid) {
                continue;
            }
            match kill_process(seen.pid, Signal::STOP) {
                Ok(()) if counts => moving = Some(seen.pid),
                Ok(()) => {}
                Err(rustix::io::Errno::SRCH) => continue,
                Err(errno) => {
                    return Err(FreezeError::Signal {
                        pid: seen.pid.as_raw_pid(),
                        source: errno.into(),
                    });
                }
            }
            if !self.stopped.contains(&seen.pid) {
                self.stopped.push(seen.pid);
            }
        }
        Ok(moving)
    }
}

impl Drop for StoppedProcesses {
    fn drop(&mut self) {
        for pid in self.stopped.iter().rev() {
            // One that was killed meanwhile needs nothing.
            let _gone = kill_process(*pid, Signal::CONT);
        }
    }
}

/// Returns the processes above one, as far as they are inside.
fn ancestors(seen: &[ProcessInfo], pid: Pid) -> Vec<Pid> {
    let parent = |pid: &Pid| {
        let found = seen.iter().find(|seen| seen.pid == *pid)?;
        Pid::from_raw(found.parent)
    };
    let above = std::iter::successors(parent(&pid), parent);
    // A family has no circles; what is read while it changes might.
    above.take(seen.len()).collect()
}

/// Sorts processes by how far they are from the first one of their family.
fn parents_first(mut seen: Vec<ProcessInfo>) -> Vec<ProcessInfo> {
    let parents: BTreeMap<i32, i32> = seen
        .iter()
        .map(|seen| (seen.pid.as_raw_pid(), seen.parent))
        .collect();
    let depth = |mut pid: i32| {
        // A family has no circles; what is read while it changes might.
        let mut depth = 0;
        while let Some(parent) = parents.get(&pid)
            && depth <= parents.len()
        {
            pid = *parent;
            depth += 1;
        }
        depth
    };
    seen.sort_by_cached_key(|seen| depth(seen.pid.as_raw_pid()));
    seen
}
