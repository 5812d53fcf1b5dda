//! `cargo xtask test-matrix`: builds `lazaret`, then every scenario on every engine.
//!
//! The runner and the scenarios are in `tests/matrix`; it decides what passes.

use std::ffi::OsString;

use anyhow::{Context as _, Result};
use xshell::Shell;

use crate::flags;
use crate::project::{Porter, WHOLE_WORKSPACE};

/// Runs the program of the matrix with its arguments.
pub(crate) fn run_matrix(sh: &Shell, porter: &Porter, arguments: Vec<OsString>) -> Result<()> {
    let lazaret = porter.build_tested_lazaret(sh)?;
    let matrix = porter.cargo(sh, &["test", "--quiet", "--test", "matrix"]);
    let matrix = matrix.args(WHOLE_WORKSPACE).arg("--").args(arguments);
    Ok(matrix.env("LAZARET_BIN", lazaret).quiet().run()?)
}

impl flags::TestMatrix {
    pub(crate) fn run(self, sh: &Shell) -> Result<()> {
        let porter = Porter::build(sh)?;
        self.run_with(sh, &porter)
    }

    pub(crate) fn run_with(self, sh: &Shell, porter: &Porter) -> Result<()> {
        run_matrix(sh, porter, self.arguments()?).context("the matrix is not green")
    }

    fn arguments(self) -> Result<Vec<OsString>> {
        let mut line = Vec::new();
        let mut add = |flag: &str, value: OsString| line.extend([flag.into(), value]);
        for engine in self.engine {
            add("--engine", engine.into());
        }
        for scenario in self.scenario {
            add("--scenario", scenario.into());
        }
        if let Some(directory) = self.report {
            // As typed it is relative to where the caller stands, not to the repository.
            add("--report", std::env::current_dir()?.join(directory).into());
        }
        if let Some(jobs) = self.jobs {
            add("--jobs", jobs.to_string().into());
        }
        if self.again {
            line.push("--again".into());
        }
        if self.in_turn {
            line.push("--in-turn".into());
        }
        if self.list {
            line.push("--list".into());
        }
        Ok(line)
    }
}
