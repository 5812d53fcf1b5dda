//! `cargo xtask bench`: how fast things are, as ratios to what others do in the same run.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a development tool talks to its terminal"
)]

mod corpus;
mod engine;
mod far;
mod figures;
mod flags;
mod gate;
mod judge;
mod live;
mod measure;
mod memory;
mod net;
mod packer;
mod plot;
mod report;
mod rows;
mod scale;
mod series;
mod station;
mod suite;
mod terminal;
mod timing;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use xshell::Shell;

use xtask::dist;
use xtask::engines::machine::{self, Machine};
use xtask::project;
use xtask::section::Section;

use corpus::{Corpus, Size};
use engine::{Cli, EngineName};
use figures::Figures;
use measure::Bench;
use report::{Measured, Report};
use rows::Row;
use series::{Key, Series};
use station::EngineUnderTest;

const ROUNDS: usize = 3;
/// Sessions that sleep, in `live`.
const SESSIONS: usize = 100;
const QUICK_ROUNDS: usize = 2;
/// The packer alone is quick, and two threads of it feel whatever else the machine does.
const PACKER_ROUNDS: usize = 25;
/// What the README shows.
const PICTURE: &str = "docs/bench.svg";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let flags = flags::Bench::from_env_or_exit();
    let sh = Shell::new()?;
    sh.change_dir(project::root());
    flags.run(&sh)
}

impl flags::Bench {
    fn run(self, sh: &Shell) -> Result<()> {
        match self.suite.as_deref() {
            None | Some("copy") => self.copy(sh),
            Some("gate") => {
                let report = gate::run(sh, self.rounds.unwrap_or(ROUNDS))?;
                write_json(&self.report_file(sh, "gate.json")?, &report)
            }
            Some("net") => {
                let report = net::run(sh, self.engines(sh)?, self.rounds.unwrap_or(ROUNDS))?;
                write_json(&self.report_file(sh, "net.json")?, &report)
            }
            Some("live") => {
                let report = self.live().run(sh, self.engines(sh)?)?;
                write_json(&self.report_file(sh, "live.json")?, &report)
            }
            Some("far") => {
                let report = far::run(sh, self.engines(sh)?, self.rounds.unwrap_or(ROUNDS))?;
                write_json(&self.report_file(sh, "far.json")?, &report)
            }
            Some("scale") => {
                let report = self.scale().run(sh, self.engines(sh)?)?;
                write_json(&self.report_file(sh, "scale.json")?, &report)
            }
            Some("judge") => judge::run(sh, self.corpus.as_deref(), self.listing()),
            Some(other) => {
                bail!(
                    "no suite is named `{other}`: name copy, far, gate, judge, live, net or scale"
                )
            }
        }
    }

    fn live(&self) -> live::Options {
        live::Options {
            rounds: self.rounds.unwrap_or(ROUNDS),
            sessions: self.sessions.unwrap_or(SESSIONS),
            only: self.only.clone(),
        }
    }

    fn scale(&self) -> scale::Options {
        scale::Options {
            rounds: self.rounds.unwrap_or(ROUNDS),
            sessions: self.sessions,
        }
    }

    /// How `judge` prints what it measured.
    fn listing(&self) -> judge::Print {
        match (self.json, self.list) {
            (true, _) => judge::Print::Json,
            (false, true) => judge::Print::List,
            (false, false) => judge::Print::Table,
        }
    }

    fn copy(&self, sh: &Shell) -> Result<()> {
        let rounds = self
            .rounds
            .unwrap_or(if self.quick { QUICK_ROUNDS } else { ROUNDS });
        if rounds == 0 {
            bail!("no rounds measure nothing: --rounds 1 at least");
        }
        let clis = self.engines(sh)?;
        let names: Vec<EngineName> = clis.iter().map(|cli| cli.name).collect();
        let rows = self.rows(&names)?;
        let wanted = wanted(&rows, &names, self.only.is_empty());
        let folder = project::target_dir(sh).join("bench");
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let run = format!("bench{}", std::process::id());
        let scratch = folder.join(&run);
        fs::create_dir(&scratch).with_context(|| scratch.display().to_string())?;

        let bench = {
            let _section = Section::new(sh, "prepare");
            prepare(sh, &folder, &scratch, &run, clis, wanted)?
        };
        if let Err(error) = check_room(&folder, bench.room(rounds)) {
            sh.remove_path(&scratch)?;
            return Err(error);
        }
        let before = report::load();
        let mut figures = Figures::default();
        let measured = {
            let _section = Section::new(sh, "measure");
            measure(&bench, rounds, &mut figures)
        };
        let load = (before, report::load());
        {
            let _section = Section::new(sh, "clean up");
            for station in &bench.stations {
                station.clean_up()?;
            }
            sh.remove_path(&scratch)?;
        }
        measured?;
        self.report(sh, &bench, &figures, rows, load)
    }

    /// The engines that answer. One that is named has to.
    fn engines(&self, sh: &Shell) -> Result<Vec<Cli>> {
        let named: Vec<EngineName> = self
            .engine
            .iter()
            .map(|name| name.parse())
            .collect::<Result<_>>()?;
        let machine = Machine::inspect(sh)?;
        let mut clis = Vec::new();
        for name in EngineName::ALL {
            if !named.is_empty() && !named.contains(&name) {
                continue;
            }
            match Cli::find(&machine, name)? {
                Some(cli) => clis.push(cli),
                None if named.is_empty() => eprintln!("{name} does not answer and is left out"),
                None => {
                    bail!("{name} does not answer: start it, for example by `cargo xtask setup`")
                }
            }
        }
        if clis.is_empty() {
            bail!("no engine answers: `cargo xtask setup` starts them");
        }
        Ok(clis)
    }

    fn rows(&self, engines: &[EngineName]) -> Result<Vec<Row>> {
        let all = rows::rows(engines);
        for only in &self.only {
            if !all.iter().any(|row| row.name == only) {
                let mut names: Vec<&str> = all.iter().map(|row| row.name).collect();
                names.dedup();
                bail!("there is no row `{only}`: {}", names.join(", "));
            }
        }
        let is_meant =
            |row: &Row| self.only.is_empty() || self.only.iter().any(|only| only == row.name);
        let large = |row: &Row| measure::needs(&keys(row).collect(), Size::Large);
        let chosen = all
            .into_iter()
            .filter(|row| is_meant(row) && !(self.quick && large(row)));
        let chosen: Vec<Row> = chosen.collect();
        if chosen.is_empty() {
            bail!("these rows need the large tree, which --quick leaves out");
        }
        Ok(chosen)
    }

    fn report(
        &self,
        sh: &Shell,
        bench: &Bench<'_>,
        figures: &Figures,
        rows: Vec<Row>,
        load: (String, String),
    ) -> Result<()> {
        let measured = rows.into_iter().filter_map(|row| {
            let spread = figures.of(&row)?;
            Some(Measured { row, spread })
        });
        let mut corpora = vec![
            ("small", bench.small.clone()),
            ("medium", bench.medium.clone()),
        ];
        corpora.extend(bench.large.clone().map(|large| ("large", large)));
        let report = Report {
            figures,
            measured: measured.collect(),
            corpora,
            stations: &bench.stations,
            load,
        };
        println!("{}", report.text());
        println!("load before: {}; after: {}", report.load.0, report.load.1);
        write_json(&self.report_file(sh, "report.json")?, &report.json())?;
        // Only a whole run may stand in the README.
        let is_whole =
            self.only.is_empty() && !self.quick && bench.stations.len() == EngineName::ALL.len();
        let picture = match is_whole {
            true => project::root().join(PICTURE),
            false => project::target_dir(sh).join("bench/bench.svg"),
        };
        let svg = plot::draw(&report.measured, &caption(&report));
        fs::write(&picture, svg).with_context(|| picture.display().to_string())?;
        eprintln!("wrote {}", picture.display());
        Ok(())
    }

    fn report_file(&self, sh: &Shell, name: &str) -> Result<PathBuf> {
        Ok(match &self.report {
            // As typed it is relative to where the caller stands, not to the repository.
            Some(file) => std::env::current_dir()?.join(file),
            None => project::target_dir(sh).join("bench").join(name),
        })
    }
}

fn prepare<'a>(
    sh: &'a Shell,
    folder: &Path,
    scratch: &'a Path,
    run: &str,
    clis: Vec<Cli>,
    wanted: BTreeSet<Key>,
) -> Result<Bench<'a>> {
    let lazaret = dist::build(sh, &project::host_triple(sh)?)?;
    let corpora = folder.join("corpora");
    fs::create_dir_all(&corpora)?;
    let small = Corpus::make(sh, &corpora, Size::Small)?;
    let medium = Corpus::make(sh, &corpora, Size::Medium)?;
    let large = match measure::needs(&wanted, Size::Large) {
        true => Some(Corpus::make(sh, &corpora, Size::Large)?),
        false => None,
    };
    let mut stations = Vec::new();
    for cli in clis {
        let station = EngineUnderTest::prepare(sh, cli, &lazaret, scratch, run)?;
        station.check_access(&medium.path)?;
        stations.push(station);
    }
    let path = format!(
        "{}:{}",
        machine::SYSTEM_PATH,
        sh.var("PATH").unwrap_or_default()
    );
    let has_rsync = machine::find(&path, "rsync").is_some();
    if !has_rsync {
        eprintln!("rsync is missing and left out: install it by `apt-get install rsync`");
    }
    Ok(Bench {
        sh,
        stations,
        small,
        medium,
        large,
        scratch,
        wanted,
        has_rsync,
    })
}

/// What is measured stays until the end, so there has to be room for all of it.
fn check_room(folder: &Path, needed: u64) -> Result<()> {
    let disk = rustix::fs::statvfs(folder).with_context(|| folder.display().to_string())?;
    let free = disk.f_bavail * disk.f_frsize;
    if free < needed {
        let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        bail!(
            "{:.0} GiB of disk are needed until the end, and {:.0} are free: take fewer --rounds, \
             one --engine, or --quick",
            gib(needed).ceil(),
            gib(free).floor()
        );
    }
    Ok(())
}

fn measure(bench: &Bench<'_>, rounds: usize, figures: &mut Figures) -> Result<()> {
    if bench.wanted.contains(&(None, Series::Packer)) {
        packer::time(bench.sh, &bench.medium, rounds.max(PACKER_ROUNDS), figures)?;
    }
    if let Some(large) = &bench.large
        && bench.wanted.contains(&(None, Series::PackerPeak))
    {
        packer::peak(bench.sh, large, figures)?;
    }
    bench.measure(rounds, figures)
}

/// What the rows need; and, where all of them are shown, what stands beside them.
fn wanted(rows: &[Row], engines: &[EngineName], all: bool) -> BTreeSet<Key> {
    let mut wanted: BTreeSet<Key> = rows.iter().flat_map(keys).collect();
    if all {
        wanted.insert((None, Series::HostRsync));
        wanted.extend(
            engines
                .iter()
                .map(|engine| (Some(*engine), Series::PlainRun)),
        );
    }
    wanted
}

fn keys(row: &Row) -> impl Iterator<Item = Key> {
    [row.own].into_iter().chain(row.reference)
}

fn caption(report: &Report<'_>) -> String {
    let engines: Vec<String> = report
        .stations
        .iter()
        .map(|station| format!("{} {}", station.cli.name, station.version))
        .collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "{}; {cores} cores; medians, and all rounds as lines",
        engines.join(", ")
    )
}

fn write_json(file: &Path, report: &Value) -> Result<()> {
    fs::write(file, format!("{report:#}\n")).with_context(|| file.display().to_string())?;
    eprintln!("wrote {}", file.display());
    Ok(())
}
