//! Many sessions whose commands sleep: what their keepers take of the machine together.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::Value;
use xshell::Shell;

use super::Live;
use crate::figures::Figures;
use crate::memory;
use crate::series::Series;
use crate::station::EngineUnderTest;

/// How long a round looks at them.
const WINDOW: Duration = Duration::from_secs(20);

pub(super) fn measure(
    sh: &Shell,
    station: &EngineUnderTest<'_>,
    scratch: &Path,
    sessions: usize,
    rounds: usize,
    figures: &mut Figures,
) -> Result<()> {
    let start = ["base", "--", "sleep", "3600"];
    let begun = Instant::now();
    let mut all = Vec::new();
    for number in 0..sessions {
        let name = format!("idle{number}");
        all.push(Live::start(sh, station, scratch, &name, &start)?);
    }
    let took = begun.elapsed().as_secs_f64();
    eprintln!(
        "{}: {sessions} sessions after {took:.1} s",
        station.cli.name
    );
    let keepers = all.iter().map(|live| keeper(station, &live.session));
    let keepers = keepers.collect::<Result<Vec<_>>>()?;
    let engine = Some(station.cli.name);
    for round in 0..=rounds {
        let (before, since) = (processor(&keepers)?, Instant::now());
        thread::sleep(WINDOW);
        let used = processor(&keepers)?.saturating_sub(before);
        let share = used.as_secs_f64() / since.elapsed().as_secs_f64();
        if round > 0 {
            figures.add((engine, Series::IdleProcessor), 100.0 * share);
            figures.add((engine, Series::IdleMemory), memory::of_all(&keepers));
        }
    }
    all.into_iter().try_for_each(Live::end)
}

/// The process of a session's keeper, as a directory of `/proc`.
fn keeper(station: &EngineUnderTest<'_>, session: &str) -> Result<String> {
    let limits = station.lazaret(&["--json", "limits", session]).read()?;
    let limits: Value = serde_json::from_str(&limits)?;
    let pid = limits["pid"]
        .as_u64()
        .context("a keeper without a process")?;
    Ok(format!("/proc/{pid}"))
}

/// Processor time of all threads so far: the first number of `schedstat`, in nanoseconds.
fn processor(keepers: &[String]) -> Result<Duration> {
    let mut nanos = 0;
    for keeper in keepers {
        for thread in fs::read_dir(format!("{keeper}/task")).context("a keeper has ended")? {
            let times = fs::read_to_string(thread?.path().join("schedstat"))?;
            let running = times.split_ascii_whitespace().next();
            nanos += running.context("an empty schedstat")?.parse::<u64>()?;
        }
    }
    Ok(Duration::from_nanos(nanos))
}
