//! `porter dial PORT`: connects stdin and stdout to a port of the loopback inside.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

/// Why nothing was connected.
#[derive(Debug, thiserror::Error)]
enum Error {
    /// The arguments make no sense.
    #[error("usage: porter dial PORT")]
    Usage,
    /// Nobody listens, or a direction broke.
    #[error("port {port}: {source}")]
    Dial { port: u16, source: io::Error },
}

/// Runs the verb.
pub(crate) fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let port = arguments
        .next()
        .and_then(|port| port.to_str()?.parse().ok());
    let outcome = match (port, arguments.next()) {
        (Some(port), None) => lazaret_gateway::dial(port, io::stdin(), io::stdout())
            .map_err(|source| Error::Dial { port, source }),
        _ => Err(Error::Usage),
    };
    crate::settle("dial", outcome)
}
