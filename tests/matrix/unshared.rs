//! `Unshared`: mounts, processes and a network of their own, for what must not touch the
//! machine's. Everything in it ends with it, also when the runner itself is killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// From the first process to the last mount.
const SETTLE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);
/// What the first process calls itself when everything is mounted.
const READY: &str = "enclosure";

/// A set of namespaces, held open by one process.
#[derive(Debug)]
pub(crate) struct Unshared {
    holder: duct::Handle,
    /// PID 1 inside.
    pid: u32,
}

impl Unshared {
    /// Makes one and runs `script` in it by `sh`, to mount what is needed.
    ///
    /// # Errors
    /// The caller is not root, or the script fails.
    pub(crate) fn new(script: &str) -> Result<Self, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("only root can make namespaces without a user namespace".to_owned());
        }
        // PID 1 has to take note of the dead: a shell does, between two commands.
        let script = format!(
            "set -e\n{script}\nprintf {READY} > /proc/self/comm\nwhile :; do sleep 0.2; done"
        );
        // The kernel ends unshare with this thread, and its child with unshare.
        let line = "--pdeathsig KILL unshare --net --mount --propagation private --pid --fork --mount-proc --kill-child sh -c";
        let arguments: Vec<&str> = line.split(' ').chain([script.as_str()]).collect();
        let holder = duct::cmd("setpriv", arguments)
            .stdin_null()
            .stderr_to_stdout()
            .stdout_capture()
            .unchecked()
            .start()
            .map_err(|error| format!("start unshare: {error}"))?;
        let mut unshared = Self { holder, pid: 0 };
        let deadline = Instant::now() + SETTLE;
        loop {
            let unshare = unshared.holder.pids().first().copied().unwrap_or(0);
            let child = children(unshare).first().copied();
            if let Some(pid) = child.filter(|pid| name(*pid).as_deref() == Some(READY)) {
                unshared.pid = pid;
                return Ok(unshared);
            }
            let ended = unshared
                .holder
                .try_wait()
                .map_err(|error| error.to_string())?;
            if let Some(output) = ended {
                let said = String::from_utf8_lossy(&output.stdout).into_owned();
                return Err(format!("namespaces could not be made: {said}"));
            }
            if Instant::now() > deadline {
                return Err("namespaces were not made in time".to_owned());
            }
            std::thread::sleep(POLL);
        }
    }

    /// A command inside, with root's rights and in the enclosure's root directory. It runs
    /// in a child of the process that is started.
    pub(crate) fn command<S: AsRef<str>>(&self, argv: &[S]) -> duct::Expression {
        let target = self.pid.to_string();
        let mut line = vec!["--target", &target, "--mount", "--net", "--pid", "--"];
        line.extend(argv.iter().map(AsRef::as_ref));
        duct::cmd("nsenter", line)
    }

    /// The beginning of a command that sees the enclosure's mounts and nothing else of it:
    /// its process is the one that is started, and signals reach it.
    pub(crate) fn view(&self) -> Vec<String> {
        let mount = format!("--mount=/proc/{}/ns/mnt", self.pid);
        vec!["nsenter".to_owned(), mount, "--".to_owned()]
    }

    /// As [`Unshared::view`], but it sees the enclosure's network alone.
    pub(crate) fn on_its_network(&self) -> Vec<String> {
        let net = format!("--net=/proc/{}/ns/net", self.pid);
        vec!["nsenter".to_owned(), net, "--".to_owned()]
    }

    /// Runs a script inside to its end.
    ///
    /// # Errors
    /// It fails; with what it said.
    pub(crate) fn sh(&self, script: &str) -> Result<(), String> {
        let output = self
            .command(&["sh", "-ec", script])
            .stdin_null()
            .stderr_to_stdout()
            .stdout_capture()
            .unchecked()
            .run()
            .map_err(|error| error.to_string())?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!(
                "{script}: {}",
                String::from_utf8_lossy(&output.stdout)
            )),
        }
    }

    /// A path of the inside, for the outside.
    pub(crate) fn path(&self, inside: &Path) -> PathBuf {
        let relative = inside.strip_prefix("/").unwrap_or(inside);
        Path::new("/proc")
            .join(self.pid.to_string())
            .join("root")
            .join(relative)
    }
}

impl Drop for Unshared {
    fn drop(&mut self) {
        // PID 1 ends with unshare, and every process inside with PID 1.
        drop(self.holder.kill());
        let deadline = Instant::now() + SETTLE;
        while self.pid != 0 && name(self.pid).is_some() && Instant::now() < deadline {
            std::thread::sleep(POLL);
        }
    }
}

/// The name of a process that is alive.
fn name(pid: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(text.trim_end().to_owned())
}

/// Processes whose parent is `parent`.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // The second field is a name in parentheses that may hold anything.
            let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
            let found = fields.split_whitespace().nth(1);
            found.and_then(|field| field.parse().ok()) == Some(parent)
        })
        .collect()
}

/// A process and all that it started.
pub(crate) fn family(root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        found.extend(children(pid));
        next += 1;
    }
    found
}
