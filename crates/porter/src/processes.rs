//! Which processes there are in the container, and which of them stand still
//! (`man 5 proc_pid_stat`).

use std::fs;
use std::io;

use rustix::process::Pid;

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
pub(crate) struct Seen {
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
pub(crate) fn processes() -> io::Result<Vec<Seen>> {
    let mut seen = Vec::new();
    for pid in numbers("/proc")? {
        let folder = format!("/proc/{pid}");
        // What is gone by now is not there.
        let Ok(stat) = fs::read(format!("{folder}/stat")) else {
            continue;
        };
        let (Some(pid), Some((_, parent))) = (Pid::from_raw(pid), parse(&stat)) else {
            continue;
        };
        let run_state = run_state(&folder);
        seen.push(Seen {
            pid,
            parent,
            run_state,
        });
    }
    Ok(seen)
}

/// The state of a process is that of its first thread, which may be dead while others run.
fn run_state(folder: &str) -> RunState {
    let Ok(threads) = numbers(&format!("{folder}/task")) else {
        return RunState::Still;
    };
    let motions = threads.into_iter().filter_map(|thread| {
        let stat = fs::read(format!("{folder}/task/{thread}/stat")).ok()?;
        Some(parse(&stat)?.0)
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

/// Reads the state and the parent out of a `stat` line. The name, in parentheses, is the
/// process's own choice: it may hold any byte but NUL, parentheses too.
fn parse(stat: &[u8]) -> Option<(RunState, i32)> {
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = str::from_utf8(stat.get(end + 1..)?).ok()?;
    let mut words = rest.split_ascii_whitespace();
    let run_state = match words.next()? {
        "T" | "t" | "Z" | "X" | "x" => RunState::Still,
        "D" => RunState::Waiting,
        _ => RunState::Moving,
    };
    Some((run_state, words.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_not_pass_for_a_state() {
        assert_eq!(
            parse(b"7 (sh) S 1 7 7 0 -1 4194304\n"),
            Some((RunState::Moving, 1))
        );
        assert_eq!(parse(b"7 (\xff) T 1) R 3 7"), Some((RunState::Moving, 3)));
        assert_eq!(parse(b"7 (a) R 1) T 3 7"), Some((RunState::Still, 3)));
        assert_eq!(parse(b"7 (a) D 0 7"), Some((RunState::Waiting, 0)));
        assert_eq!(parse(b"7 (a"), None);
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
