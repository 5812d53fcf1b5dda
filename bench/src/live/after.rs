//! What follows the last byte of a command that has changed nothing, until the prompt is back.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use xshell::Shell;

use super::{median, workspace};
use crate::figures::Figures;
use crate::series::Series;
use crate::station::EngineUnderTest;
use crate::timing::{self, GREET, Stream};

/// Runs of each kind in a round; the figure is their median.
const RUNS: usize = 5;

pub(super) fn measure(
    sh: &Shell,
    station: &EngineUnderTest<'_>,
    scratch: &Path,
    rounds: usize,
    figures: &mut Figures,
) -> Result<()> {
    let engine = Some(station.cli.name);
    for round in 0..=rounds {
        let (mut own, mut reference) = (Vec::new(), Vec::new());
        for run in 0..RUNS {
            own.push(after_run(sh, station, scratch, round * RUNS + run)?);
            timing::settle(sh)?;
            let plain = station.plain(&["sh", "-c", GREET]);
            reference.push(timing::greeted(plain, Stream::Stdout)?.rest);
        }
        if round > 0 {
            figures.add((engine, Series::AfterRun), median(own));
            figures.add((engine, Series::AfterPlainRun), median(reference));
        }
    }
    Ok(())
}

fn after_run(
    sh: &Shell,
    station: &EngineUnderTest<'_>,
    scratch: &Path,
    run: usize,
) -> Result<Duration> {
    let name = station.name("after", run);
    let workspace = workspace(scratch, &name)?;
    timing::settle(sh)?;
    let line = ["run", "base", "-w", &workspace, "--name", &name];
    let run = station.lazaret(&[&line[..], &["--", "sh", "-c", GREET]].concat());
    let greeted = timing::greeted(run, Stream::Stdout)?;
    timing::done(station.lazaret(&["rm", &name]))?;
    Ok(greeted.rest)
}
