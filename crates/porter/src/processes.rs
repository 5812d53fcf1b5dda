//! Which processes there are in the container, which of them stand still, and which belong to a
//! session (`man 5 proc_pid_stat`).

use std::fs;
use std::io;

use rustix::process::Pid;

use crate::syscall::signal_process;

/// How often a session is looked through for processes that were forked meanwhile, before a
/// SIGKILL counts as sent to all of it.
const PASSES: usize = 8;

/// Whether a process can do anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RunState {
    /// Every thread of it is stopped, or dead.
    Still,
    /// A thread waits in the kernel and can't be interrupted.
    Waiting,
    /// A thread runs, or may at any moment.
    Moving,
}

/// A process, as it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessInfo {
    pub(crate) pid: Pid,
    /// 0 where the parent is outside of the container.
    pub(crate) parent: i32,
    pub(crate) run_state: RunState,
}

/// Whether the first process is the porter too: then this is a container of ours, and not a
/// machine whose processes are none of our business.
pub(crate) fn first_is_porter() -> io::Result<bool> {
    Ok(fs::read("/proc/1/comm")? == fs::read("/proc/self/comm")?)
}

/// Lists all processes that `/proc` shows, by number.
pub(crate) fn processes() -> io::Result<Vec<ProcessInfo>> {
    let mut seen = Vec::new();
    for pid in numbers("/proc")? {
        let folder = format!("/proc/{pid}");
        // What is gone by now is not there.
        let Ok(stat) = fs::read(format!("{folder}/stat")) else {
            continue;
        };
        let (Some(pid), Some(Stat { parent, .. })) = (Pid::from_raw(pid), Stat::parse(&stat))
        else {
            continue;
        };
        let run_state = run_state(&folder);
        seen.push(ProcessInfo {
            pid,
            parent,
            run_state,
        });
    }
    Ok(seen)
}

/// Returns the parent of a process, 0 where that is outside of the container; `None` if the process
/// is gone.
pub(crate) fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    Some(Stat::parse(&stat)?.parent)
}

/// Signals a process and every other one of the session that it leads. One that is gone counts as
/// signalled.
pub(crate) fn signal_session(leader: i32, signal: i32) {
    // It may not have started its session yet.
    let _gone = signal_process(leader, signal);
    for pass in 0..PASSES {
        let members = session(leader);
        for member in &members {
            if *member != leader || pass > 0 {
                let _gone = signal_process(*member, signal);
            }
        }
        if members.is_empty() || signal != libc::SIGKILL {
            return;
        }
    }
}

/// Lists the living processes of the session that `leader` began, whether it lives or not.
pub(crate) fn session(leader: i32) -> Vec<i32> {
    let mut members = numbers("/proc").unwrap_or_default();
    members.retain(|pid| {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok();
        let stat = stat.and_then(|stat| Stat::parse(&stat));
        stat.is_some_and(|stat| stat.session == leader && !stat.is_dead)
    });
    members
}

/// The state of a process is that of its first thread, which may be dead while others run.
fn run_state(folder: &str) -> RunState {
    let Ok(threads) = numbers(&format!("{folder}/task")) else {
        return RunState::Still;
    };
    let motions = threads.into_iter().filter_map(|thread| {
        let stat = fs::read(format!("{folder}/task/{thread}/stat")).ok()?;
        Some(Stat::parse(&stat)?.run_state)
    });
    motions.max().unwrap_or(RunState::Still)
}

fn numbers(folder: &str) -> io::Result<Vec<i32>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        numbers.extend(name.to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// What a `stat` line says of a process or a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    run_state: RunState,
    is_dead: bool,
    parent: i32,
    session: i32,
}

impl Stat {
    /// Reads a line. The name, in parentheses, is the process's own choice: it may hold any byte
    /// but NUL, parentheses too.
    fn parse(stat: &[u8]) -> Option<Self> {
        let end = stat.iter().rposition(|&byte| byte == b')')?;
        let rest = str::from_utf8(stat.get(end + 1..)?).ok()?;
        let mut words = rest.split_ascii_whitespace();
        let state = words.next()?;
        let parent = words.next()?.parse().ok()?;
        let _group = words.next()?;
        Some(Self {
            run_state: match state {
                "T" | "t" | "Z" | "X" | "x" => RunState::Still,
                "D" => RunState::Waiting,
                _ => RunState::Moving,
            },
            is_dead: matches!(state, "Z" | "X" | "x"),
            parent,
            session: words.next()?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_not_pass_for_a_state() {
        let parse = |stat: &[u8]| {
            let stat = Stat::parse(stat)?;
            Some((stat.run_state, stat.is_dead, stat.parent, stat.session))
        };
        let moving = |parent| Some((RunState::Moving, false, parent, 9));
        assert_eq!(parse(b"7 (sh) S 1 7 9 0 -1 4194304\n"), moving(1));
        assert_eq!(parse(b"7 (\xff) T 1) R 3 7 9"), moving(3));
        let still = Some((RunState::Still, false, 3, 9));
        assert_eq!(parse(b"7 (a) R 1) T 3 7 9"), still);
        let waiting = Some((RunState::Waiting, false, 0, 9));
        assert_eq!(parse(b"7 (a) D 0 7 9"), waiting);
        let dead = Some((RunState::Still, true, 1, 9));
        assert_eq!(parse(b"7 (a) Z 1 7 9"), dead);
        assert_eq!(parse(b"7 (a) Z 1 7"), None);
        assert_eq!(parse(b"7 (a"), None);
    }

    #[test]
    fn a_session_is_listed_by_its_leader() {
        let me = rustix::process::getpid().as_raw_nonzero().get();
        // A leader outside of this PID namespace has the number 0 here, which `getsid` can't give.
        let own = Stat::parse(&fs::read("/proc/self/stat").unwrap()).unwrap();
        assert!(session(own.session).contains(&me));
        assert_eq!(session(i32::MAX), Vec::<i32>::new());
    }

    #[test]
    fn a_machine_is_no_container_of_ours() {
        assert!(!first_is_porter().unwrap());
    }

    #[test]
    fn this_process_is_seen_moving() {
        let me = rustix::process::getpid();
        let seen = processes().unwrap();
        let found = seen.iter().find(|seen| seen.pid == me).unwrap();
        assert_eq!(found.run_state, RunState::Moving);
    }
}
