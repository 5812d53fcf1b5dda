//! Copying to an engine behind ssh, beside the usual ways to copy a tree to another machine.

mod sshd;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;
use xshell::Shell;

use xtask::project;

use self::sshd::Sshd;
use super::corpus::{Corpus, Size};
use super::engine::{Cli, EngineName};
use super::figures::Figures;
use super::rows::Row;
use super::series::Series;
use super::station::{self, EngineUnderTest};
use super::{suite, timing};

/// Most that copying in may take beside scp.
const TARGET: f64 = 0.8;

/// Measures on each of the engines, and returns the report as JSON.
pub(super) fn run(sh: &Shell, clis: Vec<Cli>, rounds: usize) -> Result<Value> {
    let folder = project::target_dir(sh).join("bench/corpora");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let corpus = Corpus::make(sh, &folder, Size::Medium)?;
    suite::run(sh, clis, rounds, rows, |stations, scratch, figures| {
        let sshd = Sshd::start(sh, scratch)?;
        for station in stations {
            let far = Far {
                sh,
                sshd: &sshd,
                station,
                corpus: &corpus,
                scratch,
            };
            for round in 0..=rounds {
                far.measure(round, figures)?;
            }
        }
        Ok(())
    })
}

fn rows(engine: EngineName) -> Vec<Row> {
    let row = |name, what: &str, reference, target| Row {
        name,
        what: what.to_owned(),
        title: what.to_owned(),
        engine: Some(engine),
        own: (Some(engine), Series::FarCopyIn),
        reference: Some((Some(engine), reference)),
        target,
    };
    vec![
        row(
            "far-copy",
            "copy-in over ssh / scp -r",
            Series::Scp,
            Some(TARGET),
        ),
        row(
            "far-copy-tar",
            "copy-in over ssh / tar c | ssh tar x",
            Series::TarOverSsh,
            None,
        ),
    ]
}

struct Far<'a> {
    sh: &'a Shell,
    sshd: &'a Sshd,
    station: &'a EngineUnderTest<'a>,
    corpus: &'a Corpus,
    scratch: &'a Path,
}

impl Far<'_> {
    /// The first round does not count.
    fn measure(&self, round: usize, figures: &mut Figures) -> Result<()> {
        let Self {
            sh,
            sshd,
            station,
            corpus,
            ..
        } = self;
        let engine = Some(station.cli.name);
        let ran = station.run_at(
            &sshd.engine(&station.cli.socket),
            corpus,
            &station.name("far", round),
        )?;
        let copied = ran.phase("copy_in_ms")?;

        timing::warm(sh, &corpus.path)?;
        let scp = sshd.scp(&corpus.path, &self.target("scp", round)?);
        let scp = timing::whole(sh, scp)?;

        timing::warm(sh, &corpus.path)?;
        let unpack = format!("tar -C '{}' -x -f -", self.target("tar", round)?);
        let tar = timing::piped(sh, station::tar(sh, corpus), sshd.ssh(&unpack))?;

        eprintln!("{}: over ssh, round {round}", station.cli.name);
        if round > 0 {
            figures.add((engine, Series::FarCopyIn), copied);
            figures.add((engine, Series::Scp), scp.as_secs_f64() * 1e3);
            figures.add((engine, Series::TarOverSsh), tar.as_secs_f64() * 1e3);
        }
        Ok(())
    }

    /// A new directory on the far machine, which is this one.
    fn target(&self, what: &str, round: usize) -> Result<String> {
        let target = self.scratch.join(self.station.name(what, round));
        fs::create_dir(&target).with_context(|| target.display().to_string())?;
        let text = target.to_str().context("a path that is text")?;
        Ok(text.to_owned())
    }
}
