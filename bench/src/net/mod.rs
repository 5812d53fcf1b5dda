//! What the gateway costs: a client in a session beside the same client in a plain container
//! on the engine's own network, in turn.

mod client;
mod server;

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};
use xshell::Shell;

use super::engine::{Cli, EngineName};
use super::figures::Figures;
use super::rows::Row;
use super::series::Series;
use super::station::EngineUnderTest;
use super::suite;
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
    let rows = |engine| rows(engine).collect();
    let mut json = suite::run(sh, clis, rounds, rows, |stations, scratch, figures| {
        measure(stations, scratch, rounds, figures)
    })?;
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
