//! `porter hold`: keeps every other process of the container still while somebody looks.
//!
//! For engines that can't pause a container: rootless ones on cgroup v1 have no freezer. It
//! comes by exec, as the command's own user, and waits for a byte. With the first one it
//! stops everybody but PID 1 and says `held`; with [`freeze::END`], the end of its input or
//! [`SILENCE`] without a byte it lets them go on, so that one whose caller was killed holds
//! nobody for long. Then it says `released`, unless it had to end by itself.
//!
//! Parents are stopped before their children and continued after them: a shell that does
//! job control never sees a child that is stopped. What was stopped already stays so.
//! It is no control: a command that wants to can end the hold by killing this process while
//! it sets to work, and `porter thaw` then sets all free.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use lazaret_protocol::freeze::{self, FreezeReply};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{DumpableBehavior, Pid, Signal, getpid, kill_process};

use crate::root;
use crate::still::{Motion, Seen, first_is_porter, processes};
use crate::syscall::{BlockedSignals, signal_everyone};

/// How long nobody need say anything. A caller speaks several times in it.
const SILENCE: Duration = Duration::from_secs(3);

/// How long the first byte may take: a caller prepares the hold and then does other things.
const PREPARED: Duration = Duration::from_secs(600);

/// How long it may take until everybody stands still.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a process in an uninterruptible wait counts as moving: a disk needs less, and
/// the parent of a `vfork` waits for as long as its child is stopped.
const UNINTERRUPTIBLE: Duration = Duration::from_millis(300);

/// Between two looks at those who were told to stop.
const PASS: Duration = Duration::from_millis(1);

/// Between two looks at signals and the clock, while holding.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

#[derive(Debug, thiserror::Error)]
enum HoldError {
    #[error("this is no container of lazaret")]
    NoContainer,
    #[error("the processes can't be listed: {0}")]
    List(#[source] io::Error),
    #[error("process {pid} can't be stopped: {source}")]
    Signal { pid: i32, source: io::Error },
    #[error("process {pid} does not stand still")]
    Moving { pid: i32 },
    #[error("no heartbeat from the launcher for {} s", SILENCE.as_secs())]
    Silence,
    #[error("a signal ended it")]
    Ended,
    #[error(transparent)]
    Pipe(#[from] io::Error),
}

/// Runs the verb.
pub(crate) fn run() -> ExitCode {
    crate::settle("hold", hold())
}

/// Runs `porter thaw`: continues everybody, whoever stopped them. For when a hold was killed.
pub(crate) fn thaw() -> ExitCode {
    crate::settle("thaw", continue_everybody())
}

fn continue_everybody() -> Result<(), HoldError> {
    if !first_is_porter()? {
        return Err(HoldError::NoContainer);
    }
    match signal_everyone(libc::SIGCONT) {
        // There is nobody but us.
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        other => Ok(other?),
    }
}

fn hold() -> Result<(), HoldError> {
    if !first_is_porter()? {
        return Err(HoldError::NoContainer);
    }
    // PID 1 sends SIGTERM to everybody when the container is to end: those who stand still
    // have to be let go to hear it.
    let signals = BlockedSignals::all()?;
    // Nobody of the same user shall write to our streams by way of /proc.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(io::Error::from)?;
    let mut caller = Caller {
        stdin: root::stdin()?,
        signals,
        heard: None,
    };
    if caller.wait_for_the_first()? == Word::End {
        return Ok(());
    }
    let mut held = Held::default();
    held.everybody()?;
    let mut stdout = root::stdout()?;
    let processes = held.stopped.len();
    writeln!(stdout, "{}", FreezeReply::Held { processes })?;
    while caller.listen()? == Word::Hold {}
    drop(held);
    writeln!(stdout, "{}", FreezeReply::Released)?;
    Ok(())
}

/// What was heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Hold,
    End,
}

/// Whoever wants to look.
struct Caller {
    stdin: std::fs::File,
    signals: BlockedSignals,
    /// When a byte came last; `None` before the first.
    heard: Option<Instant>,
}

impl Caller {
    /// Before the hold nobody has to hurry.
    fn wait_for_the_first(&mut self) -> Result<Word, HoldError> {
        let start = Instant::now();
        while start.elapsed() < PREPARED {
            let word = self.listen()?;
            if word == Word::End || self.heard.is_some() {
                return Ok(word);
            }
        }
        Ok(Word::End)
    }

    /// Listens for a moment.
    fn listen(&mut self) -> Result<Word, HoldError> {
        let mut ready = [PollFd::from_borrowed_fd(self.stdin.as_fd(), PollFlags::IN)];
        let count = match poll(&mut ready, Some(&TICK)) {
            Err(rustix::io::Errno::INTR) => 0,
            other => other.map_err(io::Error::from)?,
        };
        if let Some(signal) = self.signals.wait(Duration::ZERO)?
            && [libc::SIGTERM, libc::SIGINT, libc::SIGHUP].contains(&signal.signal)
        {
            return Err(HoldError::Ended);
        }
        if count > 0 {
            let mut bytes = [0; 64];
            let length = self.stdin.read(&mut bytes)?;
            if length == 0 || bytes[..length].contains(&freeze::END) {
                return Ok(Word::End);
            }
            self.heard = Some(Instant::now());
        }
        match self.heard {
            Some(heard) if heard.elapsed() > SILENCE => Err(HoldError::Silence),
            _ => Ok(Word::Hold),
        }
    }
}

/// The processes that we stopped, parents first. Dropping it lets them go on.
#[derive(Default)]
struct Held {
    stopped: Vec<Pid>,
}

impl Held {
    /// Stops everybody: until twice in a row nobody was seen moving, since whoever moves can
    /// start others.
    fn everybody(&mut self) -> Result<(), HoldError> {
        let start = Instant::now();
        let mut quiet = 0;
        while quiet < 2 {
            match self.pass(start.elapsed())? {
                None => quiet += 1,
                Some(pid) if start.elapsed() > PATIENCE => {
                    let pid = pid.as_raw_pid();
                    return Err(HoldError::Moving { pid });
                }
                Some(_) => {
                    quiet = 0;
                    std::thread::sleep(PASS);
                }
            }
        }
        Ok(())
    }

    /// Tells everybody who moves to stop, and names one of them.
    fn pass(&mut self, since: Duration) -> Result<Option<Pid>, HoldError> {
        let me = getpid();
        let seen = processes().map_err(HoldError::List)?;
        let mut moving = None;
        for seen in parents_first(seen) {
            let counts = match seen.motion {
                Motion::Still => continue,
                Motion::Waiting => since < UNINTERRUPTIBLE,
                Motion::Moving => true,
            };
            if seen.pid.is_init() || seen.pid == me {
                continue;
            }
            match kill_process(seen.pid, Signal::STOP) {
                Ok(()) if counts => moving = Some(seen.pid),
                Ok(()) => {}
                Err(rustix::io::Errno::SRCH) => continue,
                Err(errno) => {
                    return Err(HoldError::Signal {
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

impl Drop for Held {
    fn drop(&mut self) {
        for pid in self.stopped.iter().rev() {
            // One that was killed meanwhile needs nothing.
            let _gone = kill_process(*pid, Signal::CONT);
        }
    }
}

/// Sorts processes by how far they are from the first one of their family.
fn parents_first(mut seen: Vec<Seen>) -> Vec<Seen> {
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
