//! Processes that outlive the command that started them, and can be ended by a later one.
//!
//! A record in the state directory names the process by pid *and* start time, so that a
//! pid which the kernel gave to another process is never taken for ours.

use std::fmt;
use std::fs::{self, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use xshell::Shell;

use super::ping;

/// How long an engine may take from start to its first answer.
const START: Duration = Duration::from_secs(60);
/// How long an engine may take to end after SIGTERM; dockerd stops its containers first.
const STOP: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(100);
/// Lines of the log that are shown when an engine does not come up.
const TAIL: usize = 25;

/// A daemon: its name in messages and file names, and the program that must be found in
/// its command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    pub(crate) name: &'static str,
    pub(crate) program: &'static str,
}

pub(crate) const DOCKER: Service = Service {
    name: "docker",
    program: "dockerd",
};
pub(crate) const PODMAN: Service = Service {
    name: "podman",
    program: "podman",
};
pub(crate) const ROOTLESS: Service = Service {
    name: "podman-rootless",
    program: "podman",
};

/// In the order in which they are ended.
pub(crate) const ALL: [Service; 3] = [ROOTLESS, PODMAN, DOCKER];

/// Which process a record names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) pid: u32,
    /// Field 22 of `/proc/PID/stat`, in clock ticks since boot.
    start: u64,
}

impl Record {
    /// None if there is no such process.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let start = start_time(pid)?;
        Some(Self { pid, start })
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (pid, start) = text.trim().split_once(' ')?;
        Some(Self {
            pid: pid.parse().ok()?,
            start: start.parse().ok()?,
        })
    }

    /// True while the process has not ended. Asks for nothing that a process lacks while it
    /// replaces itself: its command line and environment are empty then.
    pub(crate) fn runs(self) -> bool {
        fs::read_to_string(format!("/proc/{}/stat", self.pid))
            .is_ok_and(|stat| self.is_alive_in(&stat))
    }

    fn is_alive_in(self, stat: &str) -> bool {
        let fields: Vec<&str> = after_name(stat).collect();
        let has_ended = matches!(fields.first(), Some(&("Z" | "X")) | None);
        let start = fields.get(19).and_then(|field| field.parse().ok());
        !has_ended && start == Some(self.start)
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.pid, self.start)
    }
}

impl Service {
    pub(crate) fn log(self, state: &Path) -> PathBuf {
        state.join(format!("{}.log", self.name))
    }

    fn record(self, state: &Path) -> PathBuf {
        state.join(format!("{}.pid", self.name))
    }

    /// Starts `argv` in a session of its own, streams into the log, and waits until
    /// `socket` answers.
    ///
    /// # Errors
    ///
    /// With the end of the log, when the process ends or stays silent. It is then not running.
    pub(crate) fn start(
        self,
        sh: &Shell,
        state: &Path,
        argv: &[String],
        environment: &[(String, String)],
        socket: &Path,
    ) -> Result<()> {
        create_private(state)?;
        let log = File::create(self.log(state)).context("the engine's log")?;
        // setsid replaces itself by the program, so the pid is the program's.
        let command = sh
            .cmd("setsid")
            .args(argv)
            .env_clear()
            .envs(environment.iter().cloned());
        let mut child = Command::from(command)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("start {}", argv.join(" ")))?;
        let record = Record::of(child.id()).context("the process is gone already")?;
        fs::write(self.record(state), format!("{record}\n"))?;
        let outcome = wait_for(&mut child, socket);
        if let Err(error) = outcome {
            self.stop(state)?;
            bail!("{} did not start: {error}\n{}", self.name, self.tail(state));
        }
        Ok(())
    }

    /// Ends the processes that [`Service::start`] brought up, as far as they still are those.
    /// True when there was one to end. Containers keep running.
    pub(crate) fn stop(self, state: &Path) -> Result<bool> {
        let file = self.record(state);
        let running = self.running(state);
        if !running.is_empty() {
            signal(&running, Signal::TERM)?;
            wait_until(STOP, || self.running(state).is_empty());
            signal(&self.running(state), Signal::KILL)?;
            wait_until(STOP, || self.running(state).is_empty());
        }
        if file.exists() {
            fs::remove_file(&file).with_context(|| file.display().to_string())?;
        }
        Ok(!running.is_empty())
    }

    /// Pids of the recorded session that still run. Rootless Podman goes on in a child and
    /// leaves another that holds its user namespace, so the first process is not enough.
    fn running(self, state: &Path) -> Vec<i32> {
        let record = fs::read_to_string(self.record(state)).unwrap_or_default();
        let Some(record) = Record::parse(&record) else {
            return Vec::new();
        };
        // The kernel keeps a session's number from being used again while it has members;
        // a leader with another start time is another process.
        if start_time(record.pid).is_some_and(|start| start != record.start) {
            return Vec::new();
        }
        let Ok(processes) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        processes
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|pid| self.is_member(*pid, record))
            .collect()
    }

    fn is_member(self, pid: i32, record: Record) -> bool {
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
            return false;
        };
        let fields: Vec<&str> = after_name(&stat).collect();
        let number = |index: usize| {
            fields
                .get(index)
                .and_then(|field| field.parse::<u64>().ok())
        };
        let command_line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        number(3) == Some(u64::from(record.pid))
            && number(19).is_some_and(|start| start >= record.start)
            && !matches!(fields.first(), Some(&("Z" | "X")) | None)
            && String::from_utf8_lossy(&command_line).contains(self.program)
    }

    fn tail(self, state: &Path) -> String {
        let log = fs::read_to_string(self.log(state)).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(TAIL)..].join("\n  ");
        format!("  {tail}\n  (whole log: {})", self.log(state).display())
    }
}

/// Creates a directory that only its owner can enter, and its parents.
pub(crate) fn create_private(directory: &Path) -> Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .with_context(|| format!("create `{}`", directory.display()))
}

fn wait_for(child: &mut Child, socket: &Path) -> Result<()> {
    let deadline = Instant::now() + START;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            bail!("it ended: {status}");
        }
        if ping::answers(socket) {
            return Ok(());
        }
        std::thread::sleep(POLL);
    }
    bail!(
        "no answer on `{}` within {} s",
        socket.display(),
        START.as_secs()
    )
}

/// Polls until `done`; false when the time is over.
pub(crate) fn wait_until(limit: Duration, done: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    while !done() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(POLL);
    }
    true
}

/// A process that ended in between is no error. Not by kill(1): a minimal system has none.
pub(crate) fn signal(pids: &[i32], signal: Signal) -> Result<()> {
    for pid in pids.iter().copied().filter_map(Pid::from_raw) {
        match kill_process(pid, signal) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("end process {pid}", pid = pid.as_raw_nonzero()));
            }
        }
    }
    Ok(())
}

fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    after_name(&stat).nth(19)?.parse().ok()
}

/// Fields of `/proc/PID/stat` from the third (state) on. The second is the program's name
/// in parentheses and may itself hold spaces and parentheses.
fn after_name(stat: &str) -> impl Iterator<Item = &str> {
    let end = stat.rfind(')').map_or(stat.len(), |end| end + 1);
    stat[end..].split_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_names_pid_and_start() {
        assert_eq!(
            Record::parse("12 345\n"),
            Some(Record {
                pid: 12,
                start: 345
            })
        );
        assert_eq!(Record::parse("12\n"), None);
        assert_eq!(Record::parse(""), None);
    }

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let stat = "7 (a) Z (b) S 1 7 7 0";
        assert_eq!(after_name(stat).next(), Some("S"));
    }

    #[test]
    fn the_start_of_a_process_is_stable() {
        let pid = std::process::id();
        assert!(start_time(pid).is_some());
        assert_eq!(start_time(pid), start_time(pid));
    }
    #[test]
    fn a_process_runs_until_it_ends_also_while_it_replaces_itself() {
        let record = Record { pid: 7, start: 345 };
        let stat = |state: &str, start: u64| {
            format!("7 (sh) {state} 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {start} 0 0")
        };
        assert!(record.is_alive_in(&stat("R", 345)));
        assert!(!record.is_alive_in(&stat("Z", 345)), "a zombie");
        assert!(!record.is_alive_in(&stat("R", 346)), "another process");
        assert!(!record.is_alive_in(""), "none");

        let own = Record::of(std::process::id()).expect("this process");
        assert!(own.runs());
        assert_eq!(Record::parse(&own.to_string()), Some(own));
    }
}
