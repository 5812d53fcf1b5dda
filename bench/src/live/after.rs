//! What follows the last byte of a command that has changed nothing, until the prompt of a terminal
//! is back.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use xshell::{Cmd, Shell};

use super::{median, workspace};
use crate::figures::Figures;
use crate::series::Series;
use crate::station::EngineUnderTest;
use crate::terminal::OnTerminal;
use crate::timing::{self, GREET, GREETING};

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
            reference.push(rest(station.plain(&["sh", "-c", GREET]))?);
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
    let rest = rest(run)?;
    timing::done(station.lazaret(&["rm", &name]))?;
    Ok(rest)
}

/// How long a program on a terminal goes on after its greeting.
fn rest(command: Cmd<'_>) -> Result<Duration> {
    let mut shown = OnTerminal::start(command)?;
    shown.awaits(GREETING)?;
    let start = Instant::now();
    shown.ends()?;
    Ok(start.elapsed())
}
