//! `Client`: the program that measures, in a session or in a plain container.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::super::figures::Spread;
use super::super::station::EngineUnderTest;
use super::server::Server;

/// Connections for the first byte; the median counts.
const TRIES: u64 = 100;
/// What is downloaded.
pub(super) const BYTES: u64 = 1 << 30;
/// Connections that are held at once.
pub(super) const HELD: u64 = 500;

const SCRIPT: &str = include_str!("client.sh");
/// The name under which a session knows the server (RFC 2606).
const NAME: &str = "upstream.test";

/// A client that is ready to run on one engine.
#[derive(Debug)]
pub(super) struct Client<'a> {
    station: &'a EngineUnderTest<'a>,
    server: &'a Server,
    config: PathBuf,
    workspace: PathBuf,
}

/// What one run of the client measured, by what it is of: milliseconds.
#[derive(Debug)]
pub(super) struct Timed(BTreeMap<String, Vec<f64>>);

impl Timed {
    fn parse(output: &str) -> Result<Self> {
        let mut timed: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for line in output.lines() {
            let mut words = line.split_whitespace();
            let (Some("figure"), Some(name), Some(micros)) =
                (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let micros: f64 = micros.parse().with_context(|| line.to_owned())?;
            timed.entry(name.to_owned()).or_default().push(micros / 1e3);
        }
        Ok(Self(timed))
    }

    /// The median of what a row is made of.
    pub(super) fn of(&self, row: &str) -> Result<f64> {
        let name = row.strip_suffix("-byte").unwrap_or(row);
        let values = self.0.get(name).map_or(&[][..], Vec::as_slice);
        let spread = Spread::of(values);
        Ok(spread
            .with_context(|| format!("the client measured no {name}"))?
            .median)
    }
}

impl<'a> Client<'a> {
    /// Writes the configuration of a user who lets sessions reach the server.
    pub(super) fn prepare(
        station: &'a EngineUnderTest<'a>,
        server: &'a Server,
        scratch: &Path,
    ) -> Result<Self> {
        let folder = scratch.join(format!("net-{}", station.cli.name));
        let (config, workspace) = (folder.join("config"), folder.join("workspace"));
        fs::create_dir_all(config.join("lazaret/profiles"))?;
        fs::create_dir_all(&workspace)?;
        fs::write(workspace.join("README"), "nothing\n")?;
        let (address, port) = (server.address, server.port);
        fs::write(
            config.join("lazaret/network.toml"),
            format!("private_networks = [\"{address}/32\"]\n[hosts]\n\"{NAME}\" = \"{address}\"\n"),
        )?;
        fs::write(
            config.join("lazaret/profiles/net.toml"),
            format!(
                "image = \"base\"\n[network]\nmode = \"allowlist\"\nallow = [\"{NAME}:{port}\"]\n"
            ),
        )?;
        Ok(Self {
            station,
            server,
            config,
            workspace,
        })
    }

    /// In a plain container, on the network that the engine gives to one that asks for none.
    pub(super) fn direct(&self) -> Result<Timed> {
        let host = self.server.address.to_string();
        let run = self.station.plain(&["bash", "-c", SCRIPT, "client"]);
        measured(run.args(self.arguments("direct", &host)))
    }

    /// In a session, by the gateway's proxy.
    pub(super) fn enclosed(&self, round: usize) -> Result<Timed> {
        let name = self.station.name("net", round);
        let run = self
            .station
            .lazaret(&["run", "net", "--apply", "never", "--name", &name])
            .env("XDG_CONFIG_HOME", &self.config)
            .arg("--workspace")
            .arg(&self.workspace)
            .args(["--", "bash", "-c", SCRIPT, "client"]);
        measured(run.args(self.arguments("proxy", NAME)))
    }

    fn arguments(&self, via: &str, host: &str) -> [String; 6] {
        let numbers = [u64::from(self.server.port), TRIES, BYTES, HELD];
        let [port, tries, bytes, held] = numbers.map(|number| number.to_string());
        [via.to_owned(), host.to_owned(), port, tries, bytes, held]
    }
}

fn measured(run: xshell::Cmd<'_>) -> Result<Timed> {
    let output = run.ignore_status().output()?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        bail!("the client ended with {}: {}", output.status, words.trim());
    }
    Timed::parse(&String::from_utf8_lossy(&output.stdout))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_taken_from_lines_of_their_own() {
        let timed = Timed::parse("figure first 1500\nnoise\nfigure first 500\nfigure held 9\n");
        let timed = timed.expect("it parses");
        assert_eq!(timed.of("first-byte").ok(), Some(1.0));
        assert_eq!(timed.of("held").ok(), Some(0.009));
        assert!(timed.of("download").is_err());
        assert!(Timed::parse("figure first soon").is_err());
    }
}
