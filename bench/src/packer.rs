//! The packer alone, by the example of the crate that packs.

use anyhow::{Context as _, Result};
use serde_json::Value;
use xshell::{Shell, cmd};

use super::corpus::Corpus;
use super::figures::Figures;
use super::series::Series;
use super::timing;

/// Packs the medium tree to nowhere beside a walk that only reads.
pub(super) fn time(
    sh: &Shell,
    corpus: &Corpus,
    rounds: usize,
    figures: &mut Figures,
) -> Result<()> {
    let rounds = rounds.to_string();
    let report = example(sh, &["time", path(corpus)?, &rounds])?;
    for (name, series) in [
        ("walk_ms", Series::ReadingWalk),
        ("pack_ms", Series::Packer),
    ] {
        for value in report[name].as_array().into_iter().flatten() {
            figures.add((None, series), value.as_f64().context("no figure")?);
        }
    }
    Ok(())
}

/// Packs the large tree once, in a process of its own.
pub(super) fn peak(sh: &Shell, corpus: &Corpus, figures: &mut Figures) -> Result<()> {
    let report = example(sh, &["peak", path(corpus)?])?;
    let kib = report["peak_kib"].as_f64().context("no peak")?;
    figures.add((None, Series::PackerPeak), kib / 1024.0);
    Ok(())
}

fn path(corpus: &Corpus) -> Result<&str> {
    corpus.path.to_str().context("a path that is no text")
}

fn example(sh: &Shell, arguments: &[&str]) -> Result<Value> {
    cmd!(
        sh,
        "cargo build --quiet --release --package lazaret-transfer --example pack"
    )
    .quiet()
    .run()?;
    // What a compiler writes is not paid by what is measured.
    timing::settle(sh)?;
    let said = cmd!(
        sh,
        "cargo run --quiet --release --package lazaret-transfer --example pack -- {arguments...}"
    )
    .quiet()
    .read()
    .context("the example `pack` of lazaret-transfer")?;
    let last = said.lines().last().unwrap_or_default();
    serde_json::from_str(last).context("the last line of the example `pack`")
}
