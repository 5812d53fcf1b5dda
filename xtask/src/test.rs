//! `cargo xtask test`: everything that must hold before a change is good.
//!
//! From the cheap to the dear: first the steps of [`check`](crate::check); its tests run beside
//! what needs engines. All of it uses the porter that goes into images, and one set of features:
//! nothing is built twice.

use std::thread;

use anyhow::{Result, anyhow};
use xshell::Shell;

use crate::check::{self, Shown};
use crate::flags;
use crate::project::{Porter, root};
use crate::setup::{self, Consent};
use crate::steps::Steps;

impl flags::Test {
    pub(crate) fn run(self, sh: &Shell) -> Result<()> {
        let mut steps = Steps::new(sh);
        let result = self.run_steps(sh, &mut steps);
        steps.print();
        result
    }

    fn run_steps(self, sh: &Shell, steps: &mut Steps) -> Result<()> {
        let consent = match self.yes {
            true => Consent::Given,
            false => Consent::Ask,
        };
        room(sh);
        let porter = flags::Check { fix: false }.run_until_tests(sh, steps, Porter::build)?;
        thread::scope(|scope| {
            let beside = scope.spawn(|| beside_engines(&porter));
            steps.run(sh, "engines", || setup::up(sh, consent))?;
            let contract = flags::Contract { engine: Vec::new() };
            steps.run(sh, "contract", || contract.run_with(sh, &porter))?;
            steps.run(
                sh,
                "tests without engines and fuzzing, begun beside",
                || beside.join().map_err(|_| anyhow!("a panic, see above"))?,
            )
        })?;
        let matrix = flags::TestMatrix {
            engine: Vec::new(),
            scenario: Vec::new(),
            report: self.report,
            jobs: None,
            again: true,
            in_turn: true,
            list: false,
        };
        steps.run(sh, "images and matrix", || matrix.run_with(sh, &porter))
    }
}

/// Free space that a whole test needs on an empty target directory, with all images to build.
const ROOM: u64 = 24 << 30;

/// Says if the disk may be too small: in the middle of the matrix a full disk looks like
/// anything.
fn room(sh: &Shell) {
    let Ok(disk) = rustix::fs::statvfs(sh.current_dir()) else {
        return;
    };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if free < ROOM {
        let [free, room] = [free, ROOM].map(|bytes| bytes >> 30);
        eprintln!("note: {free} GiB are free; a test that has to build everything takes {room}");
    }
}

/// What needs no engine, while the steps beside it wait for engines.
fn beside_engines(porter: &Porter) -> Result<()> {
    let sh = Shell::new()?;
    sh.change_dir(root());
    check::tests(&sh, porter, Shown::AtEnd)?;
    check::slow_tests(&sh, porter)?;
    let fuzz = flags::Fuzz {
        target: Vec::new(),
        seconds: None,
        list: false,
    };
    fuzz.run_with(&sh, porter)
}
