//! Many runs at once of a command that only waits: how long all of them take beside as many
//! containers of the engine's own, and what their launchers hold in memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use xshell::{Cmd, Shell};

use super::engine::{Cli, EngineName};
use super::figures::Figures;
use super::memory;
use super::rows::Row;
use super::series::Series;
use super::station::EngineUnderTest;
use super::{suite, timing};

/// How many run at once, where no number is asked for.
const COUNTS: [usize; 5] = [1, 8, 24, 48, 100];
const COMMAND: [&str; 2] = ["sleep", "2"];
/// How often memory is looked at.
const SAMPLE: Duration = Duration::from_millis(250);

/// What is promised for the largest number on Docker: 1.1 of what was measured first, 27.6 s on
/// two cores and 272 MiB.
const PROMISED: (EngineName, usize) = (EngineName::Docker, 100);
const MOST_MILLIS: f64 = 30_360.0;
const MOST_MIB: f64 = 299.0;

/// What is measured.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) rounds: usize,
    /// How many run at once; [`COUNTS`] where it is not given.
    pub(super) sessions: Option<usize>,
}

impl Options {
    /// Measures on each of the engines, and returns the report as JSON.
    pub(super) fn run(&self, sh: &Shell, clis: Vec<Cli>) -> Result<Value> {
        if self.sessions == Some(0) {
            bail!("no sessions measure nothing: --sessions 1 at least");
        }
        let counts = self.sessions.map_or(COUNTS.to_vec(), |count| vec![count]);
        let rows = |engine| counts.iter().flat_map(move |count| rows(engine, *count));
        suite::run(
            sh,
            clis,
            self.rounds,
            |engine| rows(engine).collect(),
            |stations, scratch, figures| {
                for station in stations {
                    for count in &counts {
                        measure(station, scratch, *count, self.rounds, figures)?;
                    }
                }
                Ok(())
            },
        )
    }
}

fn rows(engine: EngineName, count: usize) -> [Row; 3] {
    let promised = |most| ((engine, count) == PROMISED).then_some(most);
    let row = |name, what: String, own, reference, target| Row {
        name,
        what: what.clone(),
        title: what,
        engine: Some(engine),
        own: (Some(engine), own),
        reference: Option::map(reference, |series| (Some(engine), series)),
        target,
    };
    [
        row(
            "runs",
            format!("{count} runs at once / the engine's own"),
            Series::RunsAtOnce(count),
            Some(Series::PlainRunsAtOnce(count)),
            None,
        ),
        row(
            "runs-time",
            format!("{count} runs at once, in ms"),
            Series::RunsAtOnce(count),
            None,
            promised(MOST_MILLIS),
        ),
        row(
            "runs-memory",
            format!("the launchers of {count} runs at once, in MiB"),
            Series::RunsMemory(count),
            None,
            promised(MOST_MIB),
        ),
    ]
}

/// The first round, which does not count, is where memory is looked at: that takes time.
fn measure(
    station: &EngineUnderTest<'_>,
    scratch: &Path,
    count: usize,
    rounds: usize,
    figures: &mut Figures,
) -> Result<()> {
    let engine = Some(station.cli.name);
    for round in 0..=rounds {
        let runs = (0..count).map(|number| run(station, scratch, &[count, round, number]));
        let runs = runs.collect::<Result<Vec<_>>>()?;
        let plain = (0..count).map(|_| station.plain(&COMMAND)).collect();
        if round == 0 {
            let peak = peak_memory(station.program(), || at_once(runs))?;
            figures.add((engine, Series::RunsMemory(count)), peak);
            at_once(plain)?;
        } else {
            let took = at_once(runs)?.as_secs_f64() * 1e3;
            figures.add((engine, Series::RunsAtOnce(count)), took);
            let took = at_once(plain)?.as_secs_f64() * 1e3;
            figures.add((engine, Series::PlainRunsAtOnce(count)), took);
        }
        eprintln!("{}: {count} at once, round {round}", station.cli.name);
    }
    Ok(())
}

/// A run in a workspace of its own, of which nothing is left behind.
fn run<'a>(station: &EngineUnderTest<'a>, scratch: &Path, number: &[usize]) -> Result<Cmd<'a>> {
    let number: Vec<String> = number.iter().map(usize::to_string).collect();
    let name = station.name(&format!("scale-{}", number.join("-")), 0);
    let workspace = scratch.join(&name);
    fs::create_dir_all(&workspace).with_context(|| workspace.display().to_string())?;
    fs::write(workspace.join("README"), "A project of one file.\n")?;
    let run = station.lazaret(&["run", "base", "--name", &name, "--workspace"]);
    Ok(run.arg(workspace).arg("--").args(COMMAND))
}

/// Starts all, and returns how long they took together. Each has to succeed.
fn at_once(commands: Vec<Cmd<'_>>) -> Result<Duration> {
    let words = commands.first().map(Cmd::to_string).unwrap_or_default();
    let since = Instant::now();
    let mut children = Vec::new();
    for command in commands {
        let mut command = Command::from(command);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
        children.push(quiet.stderr(Stdio::piped()).spawn()?);
    }
    let ended = children.into_iter().map(Child::wait_with_output);
    let ended = ended.collect::<Result<Vec<_>, _>>()?;
    let took = since.elapsed();
    let failed: Vec<_> = ended.iter().filter(|end| !end.status.success()).collect();
    if let Some(first) = failed.first() {
        let said = timing::tail(&first.stderr);
        bail!(
            "{} of {} failed (`{words}`): {said}",
            failed.len(),
            ended.len()
        );
    }
    Ok(took)
}

/// MiB that all processes of lazaret had together at most: those of the runs, and their keepers.
fn peak_memory(program: &Path, runs: impl FnOnce() -> Result<Duration>) -> Result<f64> {
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let sampling = scope.spawn(|| {
            let mut peak: f64 = 0.0;
            while !ended.load(Ordering::Relaxed) {
                peak = peak.max(memory::of_all(&processes(program)));
                thread::sleep(SAMPLE);
            }
            peak
        });
        let ran = runs();
        ended.store(true, Ordering::Relaxed);
        let peak = sampling.join().ok().context("the sampler panicked")?;
        ran.map(|_| peak)
    })
}

/// The directories in `/proc` of all processes of a program.
fn processes(program: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all = all.map(|entry| entry.path());
    // One that has ended meanwhile is none.
    all.filter(|process| fs::read_link(process.join("exe")).is_ok_and(|exe| exe == program))
        .collect()
}
