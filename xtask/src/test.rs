//! `cargo xtask test`: everything that must hold before a change is good.
//!
//! From the cheap to the dear: first [`check`](crate::check), then what needs engines.

use anyhow::Result;
use xshell::Shell;

use crate::check;
use crate::flags;
use crate::project::Porter;
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
        let dev_porter = flags::Check { fix: false }.run_steps(sh, steps)?;
        steps.run(sh, "slow tests", || check::slow_tests(sh, &dev_porter))?;
        steps.run(sh, "engines", || setup::up(sh, consent))?;
        let contract = flags::Contract { engine: Vec::new() };
        steps.run(sh, "contract", || contract.run_with(sh, &dev_porter))?;
        let fuzz = flags::Fuzz {
            target: Vec::new(),
            seconds: None,
            list: false,
        };
        steps.run(sh, "fuzz, briefly", || fuzz.run_with(sh, &dev_porter))?;
        let porter = steps.run(sh, "porter with LTO", || Porter::build(sh))?;
        let matrix = flags::TestMatrix {
            engine: Vec::new(),
            scenario: Vec::new(),
            report: self.report,
            jobs: None,
            again: true,
            list: false,
        };
        steps.run(sh, "images and matrix", || matrix.run_with(sh, &porter))
    }
}
