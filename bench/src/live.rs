//! A session that goes on: a command beside its command, as `lazaret exec` starts it and as the
//! engine's own exec does, in turn and in the same container.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;
use xshell::Shell;

use super::engine::{Cli, EngineName};
use super::figures::Figures;
use super::rows::Row;
use super::series::Series;
use super::station::EngineUnderTest;
use super::{suite, timing};

/// Execs of each kind that a round measures; the figure is their median.
const EXECS: usize = 15;

/// Most that the ratio should be where PID 1 can be reached.
const TARGET: f64 = 0.25;

/// Measures on each of the engines, and returns the report as JSON.
pub(super) fn run(sh: &Shell, clis: Vec<Cli>, rounds: usize) -> Result<Value> {
    let rows = |engine| vec![row(engine)];
    suite::run(sh, clis, rounds, rows, |stations, scratch, figures| {
        stations.iter().try_for_each(|station| {
            let live = Live::start(sh, station, scratch)?;
            let measured = live.measure(rounds, figures);
            live.end()?;
            measured
        })
    })
}

fn row(engine: EngineName) -> Row {
    let what = "exec into a living session, lazaret / the engine's own";
    Row {
        name: "start-live",
        what: what.to_owned(),
        title: what.to_owned(),
        engine: Some(engine),
        own: (Some(engine), Series::LiveExec),
        reference: Some((Some(engine), Series::EngineExec)),
        target: Some(TARGET),
    }
}

/// A session that goes on.
struct Live<'a> {
    sh: &'a Shell,
    station: &'a EngineUnderTest<'a>,
    session: String,
    container: String,
}

impl<'a> Live<'a> {
    fn start(sh: &'a Shell, station: &'a EngineUnderTest<'a>, scratch: &Path) -> Result<Self> {
        let session = station.name("live", 0);
        let workspace = scratch.join(&session);
        fs::create_dir_all(&workspace)?;
        let workspace = workspace.to_str().context("a path that is text")?;
        let start = ["start", "base", "-w", workspace, "--name", &session];
        let start = [&start[..], &["--", "sleep", "3600"]].concat();
        station.lazaret(&start).ignore_stdout().run()?;
        let container = container(sh, station, &session)?;
        Ok(Self {
            sh,
            station,
            session,
            container,
        })
    }

    /// One round that does not count, then those that do.
    fn measure(&self, rounds: usize, figures: &mut Figures) -> Result<()> {
        let engine = Some(self.station.cli.name);
        for round in 0..=rounds {
            let (mut own, mut reference) = (Vec::new(), Vec::new());
            for _ in 0..EXECS {
                let exec = self.station.lazaret(&["exec", &self.session, "--", "true"]);
                own.push(timing::whole(self.sh, exec)?);
                let exec = self.station.cli.cmd(self.sh);
                let exec = exec.args(["exec", &self.container, "true"]).quiet();
                reference.push(timing::whole(self.sh, exec)?);
            }
            if round > 0 {
                figures.add((engine, Series::LiveExec), median(own));
                figures.add((engine, Series::EngineExec), median(reference));
                eprintln!("{}: round {round} of {rounds}", self.station.cli.name);
            }
        }
        Ok(())
    }

    fn end(self) -> Result<()> {
        self.station.lazaret(&["stop", &self.session]).run()?;
        Ok(self.station.lazaret(&["rm", &self.session]).run()?)
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

/// Milliseconds.
fn median(mut all: Vec<Duration>) -> f64 {
    all.sort_unstable();
    all.get(all.len() / 2)
        .map_or(0.0, |took| took.as_secs_f64() * 1e3)
}
