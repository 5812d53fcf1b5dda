//! `porter gateway DIRECTORY`: the one way out of a session.
//!
//! The order and its keys come by stdin, events go to stdout, the sockets into the
//! directory. The end of stdin ends it, or its silence, and with the process every connection
//! (NET-23).

use std::io::{self, BufReader};
use std::path::PathBuf;
use std::process::ExitCode;

use lazaret_egress::{HEARTBEAT_TIMEOUT, Port};
use lazaret_gateway::{GatewayError, Setup};
use rustix::process::DumpableBehavior;

use crate::limit::{self, NO_CORE};

/// Why there is no gateway.
#[derive(Debug, thiserror::Error)]
enum Error {
    /// The keys would not be safe in this process.
    #[error("can't keep memory from being read: {0}")]
    Prepare(io::Error),
    /// What the container says of its network can't be read.
    #[error("can't read {path}: {source}")]
    Read {
        path: &'static str,
        source: io::Error,
    },
    /// The gateway itself.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
}

/// Runs the verb.
pub(crate) fn run(directory: &str) -> ExitCode {
    crate::settle("gateway", gateway(directory.into()))
}

fn gateway(directory: PathBuf) -> Result<(), Error> {
    // Before the first key is read: no core dump, no `/proc/<pid>/mem` of another process.
    limit::lower(NO_CORE).map_err(Error::Prepare)?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|errno| Error::Prepare(errno.into()))?;
    let resolvers = lazaret_gateway::resolve::servers(&read("/etc/resolv.conf")?);
    let closed =
        lazaret_gateway::local_networks(&read("/proc/net/route")?, &read("/proc/net/ipv6_route")?);
    let setup = Setup {
        directory,
        resolvers,
        closed,
        tls: Port::HTTPS,
        http: Port::HTTP,
        silence: HEARTBEAT_TIMEOUT,
    };
    let output = Box::new(io::stdout());
    let input = BufReader::new(io::stdin());
    Ok(lazaret_gateway::run(input, output, &setup)?)
}

/// Reads a file that need not be there: without IPv6 there is no table of its routes.
fn read(path: &'static str) -> Result<String, Error> {
    match std::fs::read_to_string(path) {
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(source) => Err(Error::Read { path, source }),
        Ok(text) => Ok(text),
    }
}
