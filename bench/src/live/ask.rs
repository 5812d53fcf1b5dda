//! Requests to a session that is up, to one that has to start, and to a container of the engine's
//! own for each.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::Value;
use xshell::{Cmd, Shell};

use super::{median, profile, workspace};
use crate::figures::Figures;
use crate::series::Series;
use crate::station::EngineUnderTest;
use crate::timing;

/// Requests of each kind that a round measures; the figure is their median.
const REQUESTS: usize = 9;

const REQUEST: &str = "{\"prompt\":\"what is in here?\"}\n";

/// What answers, inside and in a plain container.
const AGENT: &str = "read -r request; n=${LAZARET_ASK_NONCE:-none}; \
    printf '%s\\n' \"---LAZARET_OUTPUT_START:$n---\" '{\"result\":\"done\"}' \
    \"---LAZARET_OUTPUT_END:$n---\"";

pub(super) fn measure(
    sh: &Shell,
    station: &EngineUnderTest<'_>,
    scratch: &Path,
    rounds: usize,
    figures: &mut Figures,
) -> Result<()> {
    let keys = format!("image = \"base\"\ncommand = [\"sh\", \"-c\", '''{AGENT}''']\n");
    let profile = profile(scratch, "ask", &keys)?;
    let engine = Some(station.cli.name);
    for round in 0..=rounds {
        let workspace = workspace(scratch, &station.name("ask", round))?;
        let ask = || station.lazaret(&["ask", &profile, "-w", &workspace]);
        timing::settle(sh)?;
        let (cold, first) = asked(ask().arg("--envelope"))?;
        let (mut own, mut reference) = (Vec::new(), Vec::new());
        for _ in 0..REQUESTS {
            own.push(asked(ask())?.0);
            reference.push(asked(station.plain_with_stdin(&["sh", "-c", AGENT]))?.0);
        }
        let first: Value = serde_json::from_str(&first).context("the envelope of an answer")?;
        let session = first["session"].as_str().context("a session")?;
        timing::done(station.lazaret(&["stop", session]))?;
        timing::done(station.lazaret(&["rm", session]))?;
        if round > 0 {
            figures.add((engine, Series::AskWarm), median(own));
            figures.add((engine, Series::AskCold), median(vec![cold]));
            figures.add((engine, Series::PlainAsk), median(reference));
        }
    }
    Ok(())
}

/// Sends the request and returns what came, and after how long.
fn asked(command: Cmd<'_>) -> Result<(Duration, String)> {
    let start = Instant::now();
    let answer = command.stdin(REQUEST).ignore_stderr().read()?;
    Ok((start.elapsed(), answer))
}
