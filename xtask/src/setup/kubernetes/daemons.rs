//! The processes of a cluster that outlive the command: start, record, log.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use xshell::{Cmd, Shell};

use super::cgroups::Cgroups;
use super::home::{Home, program};
use super::network::Namespace;
use super::node::Node;
use crate::engines::machine::SYSTEM_PATH;
use crate::engines::service::{Record, create_private};

/// Lines of a log that an error shows.
const TAIL: usize = 15;

/// Makes the shell a process of the cluster before it becomes the program, so the cluster has no
/// process that `down` could miss.
const JOIN: [&str; 3] = ["sh", "-c", r#"echo 0 >"$0" && exec "$@""#];

/// Returns the command `argv` as a process of the cluster.
pub(super) fn contained<'a>(sh: &'a Shell, cgroups: &Cgroups, argv: &[&str]) -> Cmd<'a> {
    sh.cmd(JOIN[0])
        .args(&JOIN[1..])
        .arg(cgroups.entrance())
        .args(argv)
}

/// Starts the processes of one cluster.
#[derive(Debug)]
pub(super) struct Daemons<'a> {
    pub(super) sh: &'a Shell,
    pub(super) home: &'a Home,
    pub(super) cgroups: &'a Cgroups,
}

impl Daemons<'_> {
    /// Starts containerd, and with it the node's namespaces.
    pub(super) fn start_runtime(&self, node: Node) -> Result<Namespace> {
        let command = node.runtime_command(self.home);
        let record = self.start(&node.runtime_name(), &command)?;
        Ok(Namespace { pid: record.pid })
    }

    /// Starts a program in the namespaces of a node.
    pub(super) fn start_in(&self, node: Namespace, name: &str, command: &[String]) -> Result<()> {
        let target = format!("--target={}", node.pid);
        let enter = ["nsenter", &target, "--net", "--mount", "--"].map(str::to_owned);
        self.start(name, &[&enter, command].concat())?;
        Ok(())
    }

    /// Starts `argv` in a session of its own; every program up to the last replaces itself, so
    /// the pid is the last one's.
    fn start(&self, name: &str, argv: &[String]) -> Result<Record> {
        create_private(&self.home.logs())?;
        create_private(&self.home.records())?;
        let log = File::create(log(self.home, name)).with_context(|| format!("log of {name}"))?;
        let programs = program("");
        let command = self
            .sh
            .cmd("setsid")
            .args(JOIN)
            .arg(self.cgroups.entrance())
            .args(argv)
            .env_clear()
            .env(
                "PATH",
                format!("{}:{SYSTEM_PATH}", programs.trim_end_matches('/')),
            )
            .env("HOME", "/run");
        let child = Command::from(command)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("start {name}"))?;
        let record = Record::of(child.id()).with_context(|| format!("start {name}: it ended"))?;
        fs::write(self.home.records().join(name), format!("{record}\n"))?;
        Ok(record)
    }
}

/// Returns the recorded processes by name, and which of them still run.
pub(super) fn recorded(home: &Home) -> Vec<Daemon> {
    let files = fs::read_dir(home.records()).into_iter().flatten().flatten();
    files
        .filter_map(|file| {
            let text = fs::read_to_string(file.path()).ok()?;
            let state = match Record::parse(&text).is_some_and(Record::runs) {
                true => State::Runs,
                false => State::Ended,
            };
            let name = file.file_name().into_string().ok()?;
            Some(Daemon { name, state })
        })
        .collect()
}

/// A recorded process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Daemon {
    pub(super) name: String,
    pub(super) state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Runs,
    Ended,
}

/// Returns the end of a log, for an error.
pub(super) fn tail(home: &Home, name: &str) -> String {
    let file = log(home, name);
    let text = fs::read(&file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let tail = lines[lines.len().saturating_sub(TAIL)..].join("\n  ");
    format!("  {tail}\n  (whole log: {})", file.display())
}

fn log(home: &Home, name: &str) -> PathBuf {
    home.logs().join(format!("{name}.log"))
}
