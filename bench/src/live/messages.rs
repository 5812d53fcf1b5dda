//! A message through `lazaret acp` and through `lazaret mcp`, there and back, beside the same
//! agent over the engine's own exec.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use xshell::{Cmd, Shell};

use super::{container, median, profile, workspace};
use crate::figures::Figures;
use crate::series::Series;
use crate::station::EngineUnderTest;
use crate::timing;

/// Messages of each kind in a round; the figure is their median.
const MESSAGES: u32 = 400;

/// Answers each request, by its id.
const AGENT: &str = "while read -r line; do id=${line#*:}; \
    printf '{\"id\":%s,\"jsonrpc\":\"2.0\",\"result\":{}}\\n' \"${id%%,*}\"; done";

pub(super) fn measure(
    sh: &Shell,
    station: &EngineUnderTest<'_>,
    scratch: &Path,
    rounds: usize,
    figures: &mut Figures,
) -> Result<()> {
    let keys = format!("image = \"base\"\nacp = [\"sh\", \"-c\", '''{AGENT}''']\n");
    let profile = profile(scratch, "messages", &keys)?;
    let session = station.name("messages", 0);
    let place = workspace(scratch, &session)?;
    let config = scratch.join("config");
    fs::create_dir_all(config.join("lazaret"))?;
    let text = format!("[mcp]\nroots = [{place:?}]\nprofiles = [\"base\"]\n");
    fs::write(config.join("lazaret/config.toml"), text)?;
    let engine = Some(station.cli.name);
    for round in 0..=rounds {
        let acp = station.lazaret(&["acp", &profile, "-w", &place, "--name", &session]);
        let mut acp = Peer::start(acp)?;
        acp.round_trip("_bench/echo")?;
        let container = container(sh, station, &session)?;
        let exec = station.cli.cmd(sh);
        let exec = exec.args(["exec", "-i", &container, "sh", "-c", AGENT]);
        let mut beside = Peer::start(exec)?;
        let mut mcp = Peer::start(station.lazaret(&["mcp"]).env("XDG_CONFIG_HOME", &config))?;
        let (mut through, mut direct, mut server) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..MESSAGES {
            through.push(acp.round_trip("_bench/echo")?);
            direct.push(beside.round_trip("_bench/echo")?);
            server.push(mcp.round_trip("ping")?);
        }
        for peer in [acp, beside, mcp] {
            peer.end()?;
        }
        if round > 0 {
            let (through, direct) = (median(through), median(direct));
            figures.add((engine, Series::AcpMessage), through);
            figures.add((engine, Series::ExecMessage), direct);
            figures.add((engine, Series::AcpAdded), through - direct);
            figures.add((engine, Series::McpMessage), median(server));
        }
    }
    timing::done(station.lazaret(&["stop", &session]))?;
    timing::done(station.lazaret(&["rm", &session]))
}

/// A process that answers each line with one.
struct Peer {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    number: u32,
}

impl Peer {
    fn start(command: Cmd<'_>) -> Result<Self> {
        let words = command.to_string();
        let mut child = Command::from(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("start `{words}`"))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        Ok(Self {
            stdin: stdin.context("a pipe")?,
            stdout: BufReader::new(stdout.context("a pipe")?),
            child,
            number: 0,
        })
    }

    fn round_trip(&mut self, method: &str) -> Result<Duration> {
        self.number += 1;
        let id = format!("\"id\":{},", self.number);
        let line = format!("{{{id}\"jsonrpc\":\"2.0\",\"method\":\"{method}\"}}\n");
        let mut answer = String::new();
        let start = Instant::now();
        self.stdin.write_all(line.as_bytes())?;
        self.stdout.read_line(&mut answer)?;
        let took = start.elapsed();
        let is_its = answer.contains("\"result\"") && answer.contains(id.trim_end_matches(','));
        ensure!(is_its, "an answer to {method}: {answer}");
        Ok(took)
    }

    /// Hangs up, and waits for its end.
    fn end(self) -> Result<()> {
        let Self {
            mut child,
            stdin,
            stdout,
            ..
        } = self;
        drop((stdin, stdout));
        child.wait()?;
        Ok(())
    }
}
