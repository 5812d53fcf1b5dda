//! `cargo xtask picture`: draws `docs/review.svg` from the program itself.
//!
//! A small project, a session on it, then `lazaret review` in tmux, some keys, and what is on
//! the screen then as SVG. So the picture shows what the program does, and can be made again.

mod cells;
mod svg;

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use xshell::{Shell, cmd};

use crate::flags;
use crate::project::{self, Porter};

/// A fixed place: its name is in the picture.
const PLACE: &str = "/tmp/lazaret-picture";
const SOCKET: &str = "lazaret-picture";
const COLUMNS: &str = "108";
const ROWS: &str = "30";

/// Down to the file in the picture, into its diff, to the second hunk; that one is left.
const KEYS: [&str; 4] = ["G", "k", "k", "Tab"];
const MORE_KEYS: [&str; 2] = ["n", "Space"];

impl flags::Picture {
    pub(crate) fn run(self, sh: &Shell) -> Result<()> {
        let lazaret = Porter::build(sh)?.build_lazaret(sh)?;
        let place = Place::make()?;
        let state = place.path.join("state");
        let harbour = place.path.join("harbour");
        script(sh, &harbour, include_str!("project.sh"))?;
        let command = include_str!("session.sh");
        cmd!(
            sh,
            "{lazaret} run base --workspace {harbour} --name harbour-1 --apply never -- sh -c {command}"
        )
        .env("XDG_STATE_HOME", &state)
        // The changes are kept, which is not the success of a run.
        .ignore_status()
        .run()?;
        script(sh, &harbour, include_str!("user.sh"))?;

        let screen = Screen::open(sh, &lazaret, &state)?;
        screen.wait_for("will be applied")?;
        screen.press(&KEYS)?;
        screen.wait_for("hunk 2 of 2")?;
        screen.press(&MORE_KEYS)?;
        screen.wait_for("[ ] @@")?;
        let cells = cells::parse(&screen.capture()?);
        screen.leave()?;
        cmd!(sh, "{lazaret} rm harbour-1 --force")
            .env("XDG_STATE_HOME", &state)
            .run()?;

        let target = project::root().join("docs/review.svg");
        fs::write(&target, svg::draw(&cells)).with_context(|| target.display().to_string())?;
        println!("{}", target.display());
        Ok(())
    }
}

fn script(sh: &Shell, dir: &Path, text: &str) -> Result<()> {
    let _dir = sh.push_dir(dir);
    cmd!(sh, "sh -c {text}").quiet().run()?;
    Ok(())
}

/// A directory that is ours, and goes when it is dropped.
#[derive(Debug)]
struct Place {
    path: PathBuf,
}

impl Place {
    fn make() -> Result<Self> {
        let path = PathBuf::from(PLACE);
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("{PLACE} has to be made anew: remove it first"))?;
        let place = Self { path };
        for dir in ["state", "harbour"] {
            fs::create_dir(place.path.join(dir))?;
        }
        Ok(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            eprintln!("{PLACE} could not be removed: {error}");
        }
    }
}

/// A terminal of tmux, with a server of its own.
struct Screen<'a> {
    sh: &'a Shell,
}

impl<'a> Screen<'a> {
    fn open(sh: &'a Shell, lazaret: &Path, state: &Path) -> Result<Self> {
        cmd!(
            sh,
            "tmux -f /dev/null -L {SOCKET} new-session -d -x {COLUMNS} -y {ROWS} -e XDG_STATE_HOME={state} {lazaret} review harbour-1 --color always"
        )
        .quiet()
        .run()
        .context("tmux is needed for the picture")?;
        Ok(Self { sh })
    }

    fn press(&self, keys: &[&str]) -> Result<()> {
        cmd!(self.sh, "tmux -L {SOCKET} send-keys {keys...}")
            .quiet()
            .run()?;
        Ok(())
    }

    fn capture(&self) -> Result<String> {
        Ok(cmd!(self.sh, "tmux -L {SOCKET} capture-pane -p -e")
            .quiet()
            .read()?)
    }

    /// Ends the review, and waits until it has ended.
    fn leave(self) -> Result<()> {
        self.press(&["q"])?;
        let give_up = Instant::now() + Duration::from_secs(20);
        while Instant::now() < give_up {
            let alive = cmd!(self.sh, "tmux -L {SOCKET} has-session")
                .quiet()
                .ignore_stderr()
                .ignore_status()
                .output()?;
            if !alive.status.success() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(100));
        }
        bail!("the review did not end");
    }

    fn wait_for(&self, text: &str) -> Result<()> {
        let give_up = Instant::now() + Duration::from_secs(20);
        while Instant::now() < give_up {
            let screen = cells::parse(&self.capture()?);
            if screen.iter().any(|row| cells::text(row).contains(text)) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(100));
        }
        bail!("the screen never showed `{text}`");
    }
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        // It may have ended by itself.
        let ended = cmd!(self.sh, "tmux -L {SOCKET} kill-server")
            .quiet()
            .ignore_stderr()
            .ignore_status()
            .run();
        drop(ended);
    }
}
