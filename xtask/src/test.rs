//! `cargo xtask test`: everything that must hold before a change is good.
//!
//! From the cheap to the dear, in one target directory and with one porter, so that
//! nothing is built twice.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::flags;
use crate::project::Porter;
use crate::section::Section;
use crate::setup::{self, Consent};

/// Engines on which the contract and the weakened runs are tested. One that does not
/// answer fails.
pub(crate) const ENGINES: &str = "docker,podman,podman-rootless";

impl flags::Test {
    pub(crate) fn run(self, sh: &Shell) -> Result<()> {
        let consent = match self.yes {
            true => Consent::Given,
            false => Consent::Ask,
        };
        {
            let _section = Section::new(sh, "engines");
            setup::up(sh, consent)?;
        }
        {
            let _section = Section::new(sh, "fmt");
            cmd!(sh, "cargo fmt --all --check").run()?;
        }
        let porter = {
            let _section = Section::new(sh, "porter");
            Porter::build(sh)?
        };
        {
            let _section = Section::new(sh, "clippy");
            let all = [
                "--workspace",
                "--all-targets",
                "--all-features",
                "--",
                "-D",
                "warnings",
            ];
            porter.cargo(sh, &["clippy"]).args(all).run()?;
            // `test = false` keeps it out of `--all-targets`.
            let matrix = ["--package", "lazaret-tests", "--test", "matrix"];
            let deny = ["--", "-D", "warnings"];
            porter
                .cargo(sh, &["clippy"])
                .args(matrix)
                .args(deny)
                .run()?;
        }
        {
            let _section = Section::new(sh, "tidy");
            let tidy = flags::Tidy {
                cycles: false,
                shrink: false,
            };
            tidy.run(sh)?;
        }
        {
            let _section = Section::new(sh, "unit, snapshot, contract and doc tests");
            porter
                .cargo(
                    sh,
                    &["test", "--workspace", "--all-features", "--no-fail-fast"],
                )
                .env("LAZARET_TEST_ENGINE", ENGINES)
                .run()?;
        }
        {
            let _section = Section::new(sh, "fuzz, briefly");
            crate::fuzz::briefly(sh)?;
        }
        let _section = Section::new(sh, "images and matrix");
        let matrix = flags::TestMatrix {
            engine: Vec::new(),
            scenario: Vec::new(),
            report: self.report,
            jobs: None,
            again: true,
            list: false,
        };
        matrix.run_with(sh, &porter)
    }
}
