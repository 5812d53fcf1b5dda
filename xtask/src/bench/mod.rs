//! `cargo xtask bench`: how fast things are, as ratios to what others do in the same run.

mod copy;
mod corpus;
mod figures;
mod gate;

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value, json};
use xshell::Shell;

use crate::flags;

const ROUNDS: usize = 5;
const FILES: usize = 12_000;

impl flags::Bench {
    pub(crate) fn run(self, sh: &Shell) -> Result<()> {
        let suites = match self.suite.as_deref() {
            None => vec!["copy", "gate"],
            Some(suite @ ("copy" | "gate")) => vec![suite],
            Some(other) => bail!("there is no suite `{other}`: `copy` and `gate` there are"),
        };
        let rounds = self.rounds.unwrap_or(ROUNDS);
        let mut report = Map::new();
        for suite in suites {
            let figures = match suite {
                "gate" => gate::run(sh, rounds)?,
                _ => copy::run(sh, rounds, self.files.unwrap_or(FILES))?,
            };
            report.insert(suite.to_owned(), figures);
        }
        if let Some(file) = self.report {
            let report: Value = json!(report);
            std::fs::write(&file, format!("{report:#}\n"))
                .with_context(|| file.display().to_string())?;
        }
        Ok(())
    }
}
