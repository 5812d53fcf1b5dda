//! A command beside a session's, as `lazaret exec` starts it and as the engine's own exec does, in
//! turn and in the same container.

use std::path::Path;

use anyhow::Result;
use xshell::Shell;

use super::{Live, median};
use crate::figures::Figures;
use crate::series::Series;
use crate::station::EngineUnderTest;
use crate::timing;

/// Execs of each kind that a round measures; the figure is their median.
const EXECS: usize = 15;

pub(super) fn measure(
    sh: &Shell,
    station: &EngineUnderTest<'_>,
    scratch: &Path,
    rounds: usize,
    figures: &mut Figures,
) -> Result<()> {
    let start = ["base", "--", "sleep", "3600"];
    let live = Live::start(sh, station, scratch, "exec", &start)?;
    let engine = Some(station.cli.name);
    for round in 0..=rounds {
        let (mut own, mut reference) = (Vec::new(), Vec::new());
        for _ in 0..EXECS {
            let exec = station.lazaret(&["exec", &live.session, "--", "true"]);
            own.push(timing::whole(sh, exec)?);
            let exec = station.cli.cmd(sh);
            let exec = exec.args(["exec", &live.container, "true"]).quiet();
            reference.push(timing::whole(sh, exec)?);
        }
        if round > 0 {
            figures.add((engine, Series::LiveExec), median(own));
            figures.add((engine, Series::EngineExec), median(reference));
        }
    }
    live.end()
}
