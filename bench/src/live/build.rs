//! `cargo build --release` of a real crate: in a copy, whose product comes back, and in a plain
//! container of the same image with the sources mounted.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;
use xshell::{Shell, cmd};

use super::workspace;
use crate::figures::Figures;
use crate::series::Series;
use crate::station::EngineUnderTest;
use crate::timing::{self, Stream};

/// A crate of crates.io without dependencies, of which every build of lazaret has the sources.
const CRATE: &str = "regex-syntax";

/// Without the crate's own manifest, which names what only its tests need.
const MANIFEST: &str = "[package]\nname = \"built\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n\
    [features]\ndefault = [\"std\", \"unicode\", \"unicode-age\", \"unicode-bool\", \"unicode-case\", \
    \"unicode-gencat\", \"unicode-perl\", \"unicode-script\", \"unicode-segment\"]\nstd = []\n\
    unicode = []\nunicode-age = []\nunicode-bool = []\nunicode-case = []\nunicode-gencat = []\n\
    unicode-perl = []\nunicode-script = []\nunicode-segment = []\n";

/// Says how many milliseconds the build took, and greets when it has.
const BUILD: &str = "export CARGO_HOME=/tmp/cargo; from=$(date +%s%N); \
    cargo build --quiet --release --offline >&2; \
    echo built in $((($(date +%s%N) - from) / 1000000)) ms; printf 'first %s\\n' byte";

pub(super) fn measure(
    sh: &Shell,
    station: &EngineUnderTest<'_>,
    scratch: &Path,
    rounds: usize,
    figures: &mut Figures,
) -> Result<()> {
    let image = station.build("rust")?;
    let sources = sources(sh)?;
    let engine = Some(station.cli.name);
    for round in 0..=rounds {
        let name = station.name("build", round);
        let own = project(sh, scratch, &name, &sources)?;
        let run = [
            "run", "rust", "-w", &own, "--name", &name, "--apply", "auto",
        ];
        let run = station.lazaret(&[&run[..], &["--", "sh", "-ec", BUILD]].concat());
        timing::settle(sh)?;
        let own = timing::greeted(run, Stream::Stdout)?;
        timing::done(station.lazaret(&["rm", "--force", &name]))?;

        let plain = project(sh, scratch, &format!("{name}-plain"), &sources)?;
        let mount = format!("{plain}:/workspace");
        let run = station.cli.cmd(sh).args(["run", "--rm", "--user", "0:0"]);
        let run = run.args(["-v", &mount, "-w", "/workspace", "--network", "none"]);
        let run = run.args(["--entrypoint", "sh", &image, "-ec", BUILD]);
        timing::settle(sh)?;
        let plain = timing::greeted(run, Stream::Stdout)?;
        if round > 0 {
            let mut add = |series, value| figures.add((engine, series), value);
            add(Series::BuildInside, built(&own.said)?);
            add(Series::PlainBuildInside, built(&plain.said)?);
            add(Series::BuildRun, (own.after + own.rest).as_secs_f64() * 1e3);
            add(
                Series::PlainBuildRun,
                (plain.after + plain.rest).as_secs_f64() * 1e3,
            );
        }
    }
    Ok(())
}

/// Milliseconds, as the build says them.
fn built(said: &str) -> Result<f64> {
    let mut lines = said.lines();
    let took = lines.find_map(|line| line.strip_prefix("built in ")?.strip_suffix(" ms"));
    Ok(took.context("the build says no time")?.parse()?)
}

/// Where cargo keeps the sources of the crate.
fn sources(sh: &Shell) -> Result<PathBuf> {
    let metadata = cmd!(sh, "cargo metadata --quiet --format-version 1 --offline");
    let metadata: Value = serde_json::from_str(&metadata.quiet().read()?)?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let package = packages.find(|package| package["name"] == CRATE);
    let manifest = package.and_then(|package| package["manifest_path"].as_str());
    let manifest = Path::new(manifest.with_context(|| format!("{CRATE} is no dependency"))?);
    Ok(manifest.with_file_name("src"))
}

/// Makes a workspace of the crate that any user of an engine can write to.
fn project(sh: &Shell, scratch: &Path, name: &str, sources: &Path) -> Result<String> {
    let project = workspace(scratch, name)?;
    cmd!(sh, "cp -R {sources} {project}/src").quiet().run()?;
    fs::write(Path::new(&project).join("Cargo.toml"), MANIFEST)?;
    cmd!(sh, "chmod -R a+rwX {project}").quiet().run()?;
    Ok(project)
}
