//! A session with a terminal: how soon a client that attaches sees it, and how long a letter takes
//! there and back, beside a terminal of the engine's own exec.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use xshell::{Cmd, Shell};

use super::{Live, median, profile};
use crate::figures::Figures;
use crate::series::Series;
use crate::station::EngineUnderTest;
use crate::terminal::OnTerminal;
use crate::timing::{GREET, GREETING};

/// Attaches of each kind in a round; the figure is their median.
const ATTACHES: usize = 9;
/// Letters of each kind in a round; the figure is their median.
const LETTERS: usize = 400;
/// What is typed.
const LETTER: char = 'X';

pub(super) fn measure(
    sh: &Shell,
    station: &EngineUnderTest<'_>,
    scratch: &Path,
    rounds: usize,
    figures: &mut Figures,
) -> Result<()> {
    let script = format!("{GREET}; stty raw -echo; exec cat");
    let keys =
        format!("image = \"base\"\nterminal = true\ncommand = [\"sh\", \"-c\", '''{script}''']\n");
    let profile = profile(scratch, "screen", &keys)?;
    let live = Live::start(sh, station, scratch, "screen", &[&profile])?;
    let engine = Some(station.cli.name);
    let attach = || station.lazaret(&["attach", &live.session, "--take"]);
    let exec = |flags: &str, script: &str| {
        let exec = station.cli.cmd(sh);
        exec.args(["exec", flags, &live.container, "sh", "-c", script])
    };
    for round in 0..=rounds {
        let (mut own, mut reference) = (Vec::new(), Vec::new());
        for _ in 0..ATTACHES {
            own.push(first_screen(attach())?);
            reference.push(first_screen(exec(
                "-t",
                &format!("{GREET}; exec sleep 60"),
            ))?);
        }
        let mut attached = OnTerminal::start(attach())?;
        attached.awaits(GREETING)?;
        let mut beside = OnTerminal::start(exec("-it", &script))?;
        beside.awaits(GREETING)?;
        // What stands on the first screen is read before the first letter is typed.
        let mark = char::from(b'A' + (round % 20) as u8);
        attached.echo(mark)?;
        beside.echo(mark)?;
        let (mut there, mut direct) = (Vec::new(), Vec::new());
        for _ in 0..LETTERS {
            there.push(attached.echo(LETTER)?);
            direct.push(beside.echo(LETTER)?);
        }
        attached.kill()?;
        beside.kill()?;
        if round > 0 {
            let (there, direct) = (median(there), median(direct));
            figures.add((engine, Series::LiveScreen), median(own));
            figures.add((engine, Series::EngineScreen), median(reference));
            figures.add((engine, Series::LiveEcho), there);
            figures.add((engine, Series::EngineEcho), direct);
            figures.add((engine, Series::LiveEchoAdded), there - direct);
        }
    }
    live.end()
}

fn first_screen(command: Cmd<'_>) -> Result<Duration> {
    let start = Instant::now();
    let mut shown = OnTerminal::start(command)?;
    shown.awaits(GREETING)?;
    let took = start.elapsed();
    shown.kill()?;
    Ok(took)
}
