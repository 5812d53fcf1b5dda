//! `cargo xtask contract`: the tests that need an engine.
//!
//! Cargo builds them as [`check`](crate::check) does, so that nothing is compiled twice; then
//! the test programs run themselves, with the engines named.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use xshell::{Shell, cmd};

use crate::flags;
use crate::project::{Porter, WHOLE_WORKSPACE};

/// Folders of the crates whose integration tests read `LAZARET_TEST_ENGINE`.
const CRATES: [&str; 2] = ["crates/image-builder", "crates/runtime"];

/// All engines, in the order in which they are tested.
const ENGINES: [&str; 3] = ["docker", "podman", "podman-rootless"];

impl flags::Contract {
    pub(crate) fn run(self, sh: &Shell) -> Result<()> {
        self.run_with(sh, &Porter::build_dev(sh)?)
    }

    pub(crate) fn run_with(self, sh: &Shell, porter: &Porter) -> Result<()> {
        let engines = match self.engine.is_empty() {
            true => ENGINES.join(","),
            false => self.engine.join(","),
        };
        let mut failed = Vec::new();
        for folder in CRATES {
            let program = program(sh, porter, folder)?;
            let _folder = sh.push_dir(folder);
            let run = cmd!(sh, "{program}")
                .env("LAZARET_TEST_ENGINE", &engines)
                .env("LAZARET_PORTER", &porter.path)
                .run();
            if run.is_err() {
                failed.push(folder);
            }
        }
        match failed.is_empty() {
            true => Ok(()),
            false => bail!("tests failed in {}", failed.join(" and ")),
        }
    }
}

/// Builds the integration tests of all crates and returns where those of one crate are.
fn program(sh: &Shell, porter: &Porter, folder: &str) -> Result<PathBuf> {
    let messages = porter
        .cargo(sh, &["test", "--quiet", "--no-run", "--test", "it"])
        .args(WHOLE_WORKSPACE)
        .arg("--message-format=json")
        .quiet()
        .read()
        .context("build the tests")?;
    let manifest = Path::new(folder).join("Cargo.toml");
    let mut programs = messages.lines().filter_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_wanted = Path::new(message["manifest_path"].as_str()?).ends_with(&manifest);
        let program = message["executable"].as_str()?;
        (is_wanted && message["target"]["name"] == "it").then(|| program.into())
    });
    programs
        .next_back()
        .with_context(|| format!("{folder} has no integration tests"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::root;

    /// A crate that is missing in the list would be tested without engines alone.
    #[test]
    fn the_crates_are_those_that_read_the_variable() {
        let sh = Shell::new().expect("a shell");
        sh.change_dir(root());
        let files = cmd!(sh, "git grep --name-only LAZARET_TEST_ENGINE -- crates")
            .quiet()
            .read()
            .expect("git grep");
        let folder = |file: &str| file.split('/').take(2).collect::<Vec<_>>().join("/");
        let mut folders: Vec<String> = files.lines().map(folder).collect();
        folders.dedup();
        assert_eq!(folders, CRATES);
    }
}
