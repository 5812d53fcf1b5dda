//! `cargo xtask codegen`: the pages of `docs/` that lazaret writes itself.
//!
//! Tests of the launcher hold the same pages; this command writes them.

use std::fs;

use anyhow::{Context as _, Result, bail};
use xshell::{Shell, cmd};

use crate::flags;
use crate::project::{self, Porter};

/// A page and the arguments by which `lazaret` prints it.
const PAGES: [(&str, [&str; 2]); 2] = [
    ("docs/cli.md", ["man", "--markdown"]),
    ("docs/rules.md", ["rules", "--markdown"]),
];

impl flags::Codegen {
    pub(crate) fn run(self, sh: &Shell) -> Result<()> {
        self.run_with(sh, &Porter::build_dev(sh)?)
    }

    /// Writes the pages that are out of date, or names them.
    pub(crate) fn run_with(self, sh: &Shell, porter: &Porter) -> Result<()> {
        let lazaret = porter.build_tested_lazaret(sh)?;
        let mut stale = Vec::new();
        for (page, arguments) in PAGES {
            let output = cmd!(sh, "{lazaret} {arguments...}").quiet().output()?;
            let path = project::root().join(page);
            if fs::read(&path).is_ok_and(|stored| stored == output.stdout) {
                continue;
            }
            match self.check {
                true => stale.push(page),
                false => {
                    fs::write(&path, &output.stdout).with_context(|| format!("write {page}"))?;
                    eprintln!("wrote {page}");
                }
            }
        }
        match stale.is_empty() {
            true => Ok(()),
            false => bail!(
                "out of date: {}\nhint: type `cargo xtask codegen`",
                stale.join(", ")
            ),
        }
    }
}
