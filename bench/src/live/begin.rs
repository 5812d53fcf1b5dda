//! How soon a person sees a command that was started to go on, beside one that `run` shows: in a
//! new session, and in one whose copy was kept.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::Value;
use xshell::Shell;

use super::{median, profile, workspace};
use crate::figures::Figures;
use crate::series::Series;
use crate::station::EngineUnderTest;
use crate::terminal::OnTerminal;
use crate::timing::{self, GREET, GREETING};

/// Sessions of each kind in a round; the figure is their median.
const SESSIONS: usize = 5;

/// How a session of `begun` is begun, and what is added for it.
#[derive(Clone, Copy)]
struct BeginKind {
    word: &'static str,
    copy: Copied,
    own: Series,
    reference: Series,
}

/// What becomes of the copy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copied {
    /// Each session makes its own.
    Anew,
    /// One session of each kind is continued.
    Kept,
}

const BEGIN_KINDS: [BeginKind; 2] = [
    BeginKind {
        word: "cold",
        copy: Copied::Anew,
        own: Series::StartAttach,
        reference: Series::RunShown,
    },
    BeginKind {
        word: "kept",
        copy: Copied::Kept,
        own: Series::StartAttachKept,
        reference: Series::RunShownKept,
    },
];

pub(super) fn measure(
    sh: &Shell,
    station: &EngineUnderTest<'_>,
    scratch: &Path,
    rounds: usize,
    figures: &mut Figures,
) -> Result<()> {
    let keys = format!(
        "image = \"base\"\nterminal = true\ncommand = [\"sh\", \"-c\", '''{GREET}; exec sleep 600''']\n"
    );
    let profile = profile(scratch, "begun", &keys)?;
    let engine = Some(station.cli.name);
    for kind in BEGIN_KINDS {
        for round in 0..=rounds {
            let (mut own, mut reference) = (Vec::new(), Vec::new());
            for number in 0..SESSIONS {
                let number = match kind.copy {
                    Copied::Anew => round * SESSIONS + number,
                    Copied::Kept => 0,
                };
                for (verb, all) in [("start", &mut own), ("run", &mut reference)] {
                    let session = station.name(&format!("{verb}-{}", kind.word), number);
                    let place = workspace(scratch, &session)?;
                    timing::settle(sh)?;
                    let mut line = vec![verb, "-w", &place, "--name", &session, "--apply", "never"];
                    if kind.copy == Copied::Kept {
                        line.push("--keep");
                    }
                    line.push(&profile);
                    all.push(shown(station, &line, &session)?);
                    timing::done(station.lazaret(&["stop", &session]))?;
                    at_rest(station, &session)?;
                    if kind.copy == Copied::Anew {
                        timing::done(station.lazaret(&["rm", &session]))?;
                    }
                }
            }
            if round > 0 {
                figures.add((engine, kind.own), median(own));
                figures.add((engine, kind.reference), median(reference));
            }
        }
        if kind.copy == Copied::Kept {
            for verb in ["start", "run"] {
                let session = station.name(&format!("{verb}-{}", kind.word), 0);
                timing::done(station.lazaret(&["rm", &session]))?;
            }
        }
    }
    Ok(())
}

/// Waits until nothing of a session is removed any more: behind the prompt of `run` that goes on,
/// and would slow down what is begun next.
fn at_rest(station: &EngineUnderTest<'_>, session: &str) -> Result<()> {
    loop {
        let listed = station.lazaret(&["ls", "--all", "--json"]).read()?;
        let listed: Vec<Value> = serde_json::from_str(&listed).context("the list of sessions")?;
        let is_live = |one: &Value| one["session"] == session && one["live"] == true;
        if !listed.iter().any(is_live) {
            return Ok(());
        }
    }
}

/// How long it takes from Enter until the command's first words are on a terminal.
fn shown(station: &EngineUnderTest<'_>, line: &[&str], session: &str) -> Result<Duration> {
    let start = Instant::now();
    let shower = match line.first() {
        Some(&"start") => {
            timing::done(station.lazaret(line))?;
            station.lazaret(&["attach", session])
        }
        _ => station.lazaret(line),
    };
    let mut shown = OnTerminal::start(shower)?;
    shown.awaits(GREETING)?;
    let took = start.elapsed();
    shown.kill()?;
    Ok(took)
}
