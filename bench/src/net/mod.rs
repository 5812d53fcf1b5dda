//! What the gateway costs: a client in a session beside the same client in a plain container
//! on the engine's own network, in turn.

mod client;
mod server;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use xshell::Shell;

use xtask::dist;
use xtask::project;
use xtask::section::Section;

use super::engine::{Cli, EngineName};
use super::figures::Figures;
use super::report::{self, Measured, Report};
use super::rows::Row;
use super::series::Series;
use super::station::EngineUnderTest;
use client::Client;
use server::Server;

/// What a round compares: the series through the gateway, the one without, and their words.
const KINDS: [(&str, &str, Series, Series); 3] = [
    (
        "first-byte",
        "first byte of a new connection, gateway / direct",
        Series::GatewayFirstByte,
        Series::DirectFirstByte,
    ),
    (
        "download",
        "1 GiB downloaded, gateway / direct",
        Series::GatewayDownload,
        Series::DirectDownload,
    ),
    (
        "held",
        "500 connections opened, held, and each answering, gateway / direct",
        Series::GatewayHeld,
        Series::DirectHeld,
    ),
];

/// Measures on each of the engines, and returns the report as JSON.
pub(super) fn run(sh: &Shell, clis: Vec<Cli>, rounds: usize) -> Result<Value> {
    if rounds == 0 {
        bail!("no rounds measure nothing: --rounds 1 at least");
    }
    let folder = project::target_dir(sh).join("bench");
    let run = format!("bench{}", std::process::id());
    let scratch = folder.join(&run);
    fs::create_dir_all(&scratch).with_context(|| scratch.display().to_string())?;
    let stations = {
        let _section = Section::new(sh, "prepare");
        let lazaret = dist::build(sh, &project::host_triple(sh)?)?;
        let stations = clis
            .into_iter()
            .map(|cli| EngineUnderTest::prepare(sh, cli, &lazaret, &scratch, &run));
        stations.collect::<Result<Vec<_>>>()?
    };
    let before = report::load();
    let mut figures = Figures::default();
    let measured = {
        let _section = Section::new(sh, "measure");
        measure(&stations, &scratch, rounds, &mut figures)
    };
    let load = (before, report::load());
    for station in &stations {
        station.clean_up()?;
    }
    sh.remove_path(&scratch)?;
    measured?;

    let rows = stations.iter().flat_map(|station| rows(station.cli.name));
    let measured = rows.filter_map(|row| {
        let spread = figures.of(&row)?;
        Some(Measured { row, spread })
    });
    let report = Report {
        figures: &figures,
        measured: measured.collect(),
        corpora: Vec::new(),
        stations: &stations,
        load,
    };
    println!("{}", report.text());
    println!("load before: {}; after: {}", report.load.0, report.load.1);
    let mut json = report.json();
    json["held"] = json!(client::HELD);
    json["bytes"] = json!(client::BYTES);
    Ok(json)
}

fn rows(engine: EngineName) -> impl Iterator<Item = Row> {
    KINDS.into_iter().map(move |(name, what, own, direct)| Row {
        name,
        what: what.to_owned(),
        title: what.to_owned(),
        engine: Some(engine),
        own: (Some(engine), own),
        reference: Some((Some(engine), direct)),
        target: None,
    })
}

/// One round that does not count, then those that do. The two ways take turns at being first.
fn measure(
    stations: &[EngineUnderTest<'_>],
    scratch: &Path,
    rounds: usize,
    figures: &mut Figures,
) -> Result<()> {
    let server = Server::start()?;
    for station in stations {
        let client = Client::prepare(station, &server, scratch)?;
        for round in 0..=rounds {
            let (direct, gateway) = match round % 2 {
                0 => {
                    let direct = client.direct()?;
                    (direct, client.enclosed(round)?)
                }
                _ => {
                    let gateway = client.enclosed(round)?;
                    (client.direct()?, gateway)
                }
            };
            if round == 0 {
                continue;
            }
            for (name, _, own, reference) in KINDS {
                let engine = Some(station.cli.name);
                figures.add((engine, own), gateway.of(name)?);
                figures.add((engine, reference), direct.of(name)?);
            }
            eprintln!("{}: round {round} of {rounds}", station.cli.name);
        }
    }
    Ok(())
}
