//! What the suites on engines share: every engine is prepared, measured and cleaned up, and the
//! figures are reported.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use xshell::Shell;

use xtask::dist;
use xtask::project;
use xtask::section::Section;

use super::engine::{Cli, EngineName};
use super::figures::Figures;
use super::report::{self, Measured, Report};
use super::rows::Row;
use super::station::EngineUnderTest;

/// Has `measure` fill in figures in a scratch directory, prints them, and returns the report.
pub(super) fn run(
    sh: &Shell,
    clis: Vec<Cli>,
    rounds: usize,
    rows: impl Fn(EngineName) -> Vec<Row>,
    measure: impl FnOnce(&[EngineUnderTest<'_>], &Path, &mut Figures) -> Result<()>,
) -> Result<Value> {
    if rounds == 0 {
        bail!("no rounds measure nothing: --rounds 1 at least");
    }
    let folder = project::target_dir(sh).join("bench");
    let run = format!("bench{}", std::process::id());
    let scratch = folder.join(&run);
    fs::create_dir_all(&scratch).with_context(|| scratch.display().to_string())?;
    let stations = {
        let _section = Section::new(sh, "prepare");
        let lazaret = dist::build(sh, &project::host_triple(sh)?)?;
        let stations = clis
            .into_iter()
            .map(|cli| EngineUnderTest::prepare(sh, cli, &lazaret, &scratch, &run));
        stations.collect::<Result<Vec<_>>>()?
    };
    let before = report::load();
    let mut figures = Figures::default();
    let measured = {
        let _section = Section::new(sh, "measure");
        measure(&stations, &scratch, &mut figures)
    };
    let load = (before, report::load());
    for station in &stations {
        station.clean_up()?;
    }
    sh.remove_path(&scratch)?;
    measured?;

    let rows = stations.iter().flat_map(|station| rows(station.cli.name));
    let measured = rows.filter_map(|row| {
        let spread = figures.of(&row)?;
        Some(Measured { row, spread })
    });
    let report = Report {
        figures: &figures,
        measured: measured.collect(),
        corpora: Vec::new(),
        stations: &stations,
        load,
    };
    println!("{}", report.text());
    println!("load before: {}; after: {}", report.load.0, report.load.1);
    Ok(report.json())
}
