//! Sessions that go on, and what a user waits for around them: a command beside a session's, a
//! client on its terminal, many that sleep, a database beside a command, requests, messages of
//! editors and agents, the end of a run, and a build.

mod after;
mod ask;
mod begin;
mod build;
mod database;
mod exec;
mod idle;
mod messages;
mod screen;

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use xshell::Shell;

use super::engine::{Cli, EngineName};
use super::rows::Row;
use super::series::Series;
use super::station::EngineUnderTest;
use super::{suite, timing};

/// What is measured, beside the rounds.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) rounds: usize,
    /// Sessions that sleep.
    pub(super) sessions: usize,
    /// Rows; all if there is none.
    pub(super) only: Vec<String>,
}

/// A row of each engine. Without a reference it stands for itself.
struct Kind {
    name: &'static str,
    what: &'static str,
    own: Series,
    reference: Option<Series>,
    target: Option<f64>,
}

/// The ratio of `exec` is aimed at where PID 1 can be reached. What is aimed at for terminals and
/// sessions that sleep is absolute, so that the sum of all is bearable.
const KINDS: [Kind; 17] = [
    Kind {
        name: "start-attach",
        what: "Enter to the first words on a terminal: start and attach / run",
        own: Series::StartAttach,
        reference: Some(Series::RunShown),
        target: Some(1.1),
    },
    Kind {
        name: "start-attach-kept",
        what: "the same in a session whose copy was kept",
        own: Series::StartAttachKept,
        reference: Some(Series::RunShownKept),
        target: Some(1.1),
    },
    Kind {
        name: "start-live",
        what: "exec into a living session, lazaret / the engine's own",
        own: Series::LiveExec,
        reference: Some(Series::EngineExec),
        target: Some(0.25),
    },
    Kind {
        name: "attach",
        what: "attach to the first screen / first byte of the engine's own exec with a terminal",
        own: Series::LiveScreen,
        reference: Some(Series::EngineScreen),
        target: None,
    },
    Kind {
        name: "attach-time",
        what: "attach to the first screen, in ms",
        own: Series::LiveScreen,
        reference: None,
        target: Some(30.0),
    },
    Kind {
        name: "echo",
        what: "a letter there and back through attach / through the engine's own exec",
        own: Series::LiveEcho,
        reference: Some(Series::EngineEcho),
        target: None,
    },
    Kind {
        name: "echo-added",
        what: "what attach adds to that, in ms",
        own: Series::LiveEchoAdded,
        reference: None,
        target: Some(0.3),
    },
    Kind {
        name: "idle-processor",
        what: "COUNT keepers of sessions that sleep, in % of a core",
        own: Series::IdleProcessor,
        reference: None,
        target: Some(1.0),
    },
    Kind {
        name: "idle-memory",
        what: "COUNT keepers of sessions that sleep, in MiB",
        own: Series::IdleMemory,
        reference: None,
        target: Some(512.0),
    },
    Kind {
        name: "start-database",
        what: "Enter to first byte beside a new PostgreSQL / two plain containers",
        own: Series::ServiceStart,
        reference: Some(Series::PlainServiceStart),
        target: None,
    },
    Kind {
        name: "ask",
        what: "ask of a session that is up / a container of the engine's own for each request",
        own: Series::AskWarm,
        reference: Some(Series::PlainAsk),
        target: Some(0.1),
    },
    Kind {
        name: "ask-first",
        what: "ask of a session that is up / the first, which starts it",
        own: Series::AskWarm,
        reference: Some(Series::AskCold),
        target: Some(0.1),
    },
    Kind {
        name: "acp-added",
        what: "what acp adds to a message there and back, in ms",
        own: Series::AcpAdded,
        reference: None,
        target: Some(5.0),
    },
    Kind {
        name: "mcp-message",
        what: "a message to mcp and back, in ms",
        own: Series::McpMessage,
        reference: None,
        target: Some(5.0),
    },
    Kind {
        name: "after-run",
        what: "last byte to the prompt, nothing changed / the engine's own run --rm",
        own: Series::AfterRun,
        reference: Some(Series::AfterPlainRun),
        target: None,
    },
    Kind {
        name: "build",
        what: "cargo build --release inside / the engine's own, with a bind mount",
        own: Series::BuildInside,
        reference: Some(Series::PlainBuildInside),
        target: Some(1.05),
    },
    Kind {
        name: "build-run",
        what: "the whole run around it / the whole of the engine's own",
        own: Series::BuildRun,
        reference: Some(Series::PlainBuildRun),
        target: Some(1.05),
    },
];

impl Options {
    /// Measures on each of the engines, and returns the report as JSON.
    pub(super) fn run(&self, sh: &Shell, clis: Vec<Cli>) -> Result<Value> {
        for name in &self.only {
            if !KINDS.iter().any(|kind| kind.name == name) {
                let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
                bail!("no row is named `{name}`: {}", names.join(", "));
            }
        }
        let rounds = self.rounds;
        let rows = |engine| self.rows(engine);
        let mut json = suite::run(sh, clis, rounds, rows, |stations, scratch, figures| {
            for station in stations {
                if self.wants(&["start-live"]) {
                    exec::measure(sh, station, scratch, rounds, figures)?;
                }
                if self.wants(&["start-attach", "start-attach-kept"]) {
                    begin::measure(sh, station, scratch, rounds, figures)?;
                }
                if self.wants(&["attach", "attach-time", "echo", "echo-added"]) {
                    screen::measure(sh, station, scratch, rounds, figures)?;
                }
                if self.wants(&["start-database"]) {
                    database::measure(sh, station, scratch, rounds, figures)?;
                }
                if self.wants(&["ask", "ask-first"]) {
                    ask::measure(sh, station, scratch, rounds, figures)?;
                }
                if self.wants(&["acp-added", "mcp-message"]) {
                    messages::measure(sh, station, scratch, rounds, figures)?;
                }
                if self.wants(&["after-run"]) {
                    after::measure(sh, station, scratch, rounds, figures)?;
                }
                if self.wants(&["build", "build-run"]) {
                    build::measure(sh, station, scratch, rounds, figures)?;
                }
                if self.wants(&["idle-processor", "idle-memory"]) {
                    idle::measure(sh, station, scratch, self.sessions, rounds, figures)?;
                }
            }
            Ok(())
        })?;
        json["sessions"] = json!(self.sessions);
        Ok(json)
    }

    fn wants(&self, names: &[&str]) -> bool {
        let is_named = |only: &String| names.contains(&only.as_str());
        self.only.is_empty() || self.only.iter().any(is_named)
    }

    fn rows(&self, engine: EngineName) -> Vec<Row> {
        let wanted = KINDS.iter().filter(|kind| self.wants(&[kind.name]));
        let rows = wanted.map(|kind| {
            let what = kind.what.replace("COUNT", &self.sessions.to_string());
            Row {
                name: kind.name,
                what: what.clone(),
                title: what,
                engine: Some(engine),
                own: (Some(engine), kind.own),
                reference: kind.reference.map(|series| (Some(engine), series)),
                target: kind.target,
            }
        });
        rows.collect()
    }
}

/// A session that goes on.
struct Live<'a> {
    station: &'a EngineUnderTest<'a>,
    session: String,
    container: String,
}

impl<'a> Live<'a> {
    /// Starts a profile in a new workspace; `start` is its name and what follows.
    fn start(
        sh: &Shell,
        station: &'a EngineUnderTest<'a>,
        scratch: &Path,
        name: &str,
        start: &[&str],
    ) -> Result<Self> {
        let session = station.name(name, 0);
        let workspace = workspace(scratch, &session)?;
        let line = ["start", "-w", &workspace, "--name", &session];
        let line = [&line[..], start].concat();
        timing::done(station.lazaret(&line))?;
        let container = container(sh, station, &session)?;
        Ok(Self {
            station,
            session,
            container,
        })
    }

    fn end(self) -> Result<()> {
        timing::done(self.station.lazaret(&["stop", &self.session]))?;
        timing::done(self.station.lazaret(&["rm", &self.session]))
    }
}

/// The container of the session's command.
fn container(sh: &Shell, station: &EngineUnderTest<'_>, session: &str) -> Result<String> {
    let filter = format!("name=lazaret-{session}-");
    let listed = station.cli.cmd(sh);
    let listed = listed.args(["ps", "--format", "{{.Names}}", "--filter", &filter]);
    let names = listed.quiet().read()?;
    let found = names.lines().find(|name| name.ends_with("-agent"));
    Ok(found
        .context("the session's command has no container")?
        .to_owned())
}

/// Writes a profile and returns its path.
fn profile(scratch: &Path, name: &str, text: &str) -> Result<String> {
    let file = scratch.join(format!("{name}.toml"));
    fs::write(&file, text).with_context(|| file.display().to_string())?;
    Ok(file.to_str().context("a path that is text")?.to_owned())
}

/// Makes an empty workspace and returns its path.
fn workspace(scratch: &Path, name: &str) -> Result<String> {
    let workspace = scratch.join(name);
    fs::create_dir_all(&workspace).with_context(|| workspace.display().to_string())?;
    Ok(workspace
        .to_str()
        .context("a path that is text")?
        .to_owned())
}

/// Milliseconds.
fn median(mut all: Vec<Duration>) -> f64 {
    all.sort_unstable();
    all.get(all.len() / 2)
        .map_or(0.0, |took| took.as_secs_f64() * 1e3)
}
