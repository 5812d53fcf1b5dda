//! `porter dial PORT`: connects stdin and stdout to a port of the loopback inside.

use std::io;
use std::process::ExitCode;

/// A port to which nothing listens, or a direction that broke.
#[derive(Debug, thiserror::Error)]
#[error("port {port}: {source}")]
struct DialError {
    port: u16,
    source: io::Error,
}

/// Runs the verb.
pub(crate) fn run(port: u16) -> ExitCode {
    let dialled = lazaret_gateway::dial(port, io::stdin(), io::stdout());
    let dialled = dialled.map_err(|source| DialError { port, source });
    crate::settle("dial", dialled)
}
