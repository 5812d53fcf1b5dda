//! How fast changes are judged and applied, by the examples of the crates that do it.

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};
use xshell::{Shell, cmd};

use xtask::project;
use xtask::section::Section;

/// What a large repository has, and what an agent changes in a long run.
const UNCHANGED: &str = "100000";
const CHANGED: &str = "1000";
/// How many files are applied.
const APPLIED: &str = "1000";
/// How many commits are landed.
const LANDED: &str = "1000";

/// Judges 1,000 changes among 100,000 entries, applies 1,000 files beside a plain copy of the
/// same files with `fsync`, and lands 1,000 commits beside `git fetch` of the same.
pub(super) fn run(sh: &Shell, rounds: usize) -> Result<Value> {
    let mut figures = Map::new();
    {
        let _section = Section::new(sh, "judge");
        let judge = ["judge", "--", UNCHANGED, CHANGED];
        figures.extend(example(sh, "lazaret-validator", &judge)?);
    }
    let folder = project::target_dir(sh).join("bench");
    sh.create_dir(&folder)?;
    let rounds = rounds.to_string();
    let place = |name: &str| {
        let folder = folder.join(format!("{name}{}", std::process::id()));
        folder.display().to_string()
    };
    {
        let _section = Section::new(sh, "apply");
        let apply = ["apply", "--", &place("apply"), APPLIED, &rounds];
        figures.extend(example(sh, "lazaret-transfer", &apply)?);
    }
    let _section = Section::new(sh, "land");
    let land = ["land", "--", &place("land"), LANDED, &rounds];
    figures.extend(example(sh, "lazaret-commits", &land)?);
    Ok(json!(figures))
}

/// Runs an example, shows what it says, and takes its last line, which is JSON.
fn example(sh: &Shell, package: &str, arguments: &[&str]) -> Result<Map<String, Value>> {
    let said = cmd!(
        sh,
        "cargo run --quiet --release --package {package} --example {arguments...}"
    )
    .quiet()
    .read()?;
    println!("{said}");
    let last = said.lines().last().unwrap_or_default();
    serde_json::from_str(last).with_context(|| format!("the last line of {package}'s example"))
}
