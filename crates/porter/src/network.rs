//! The verbs that carry connections: `porter gateway`, `porter relay` and `porter dial`.

use std::io::{self, BufReader, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use lazaret_egress::{HEARTBEAT_TIMEOUT, Port};
use lazaret_gateway::{GatewayError, Relay, RelayError, RelayRoute, Setup};
use lazaret_protocol::PortRoute;
use rustix::process::DumpableBehavior;

use crate::command::limits::{self, NO_CORE};

/// Why a verb of the network failed.
#[derive(Debug, thiserror::Error)]
enum NetworkError {
    #[error("can't keep memory from being read: {0}")]
    Prepare(io::Error),
    #[error("can't read {path}: {source}")]
    Read {
        path: &'static str,
        source: io::Error,
    },
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    #[error(transparent)]
    Relay(#[from] RelayError),
    #[error("can't say that it listens: {0}")]
    Ready(io::Error),
    /// Nothing listens to the port, or a direction broke.
    #[error("port {port}: {source}")]
    Dial { port: u16, source: io::Error },
}

/// Runs `porter gateway DIRECTORY`, the one way out of a session.
///
/// The order and its keys come by stdin, events go to stdout, the sockets into the
/// directory. The end of stdin ends it, or its silence, and with the process every connection
/// (NET-23).
pub(crate) fn gateway(directory: &str) -> ExitCode {
    crate::exit_with("gateway", run_gateway(directory.into()))
}

fn run_gateway(directory: PathBuf) -> Result<(), NetworkError> {
    // Before the first key is read: no core dump, no `/proc/<pid>/mem` of another process.
    limits::lower(NO_CORE).map_err(NetworkError::Prepare)?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|errno| NetworkError::Prepare(errno.into()))?;
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
fn read(path: &'static str) -> Result<String, NetworkError> {
    match std::fs::read_to_string(path) {
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(source) => Err(NetworkError::Read { path, source }),
        Ok(text) => Ok(text),
    }
}

/// Runs `porter relay PORT=SOCKET…`: loopback ports inside, carried to the gateway's sockets.
///
/// It writes `ready` to stdout when every port listens; the end of stdin or of the container
/// ends it. It runs as the agent, which can stop it: then there is no way out.
pub(crate) fn relay(routes: &[PortRoute]) -> ExitCode {
    let route = |route: &PortRoute| RelayRoute {
        port: route.port,
        socket: (&route.socket).into(),
    };
    let routes: Vec<RelayRoute> = routes.iter().map(route).collect();
    crate::exit_with("relay", run_relay(&routes))
}

fn run_relay(routes: &[RelayRoute]) -> Result<(), NetworkError> {
    let relay = Relay::start(routes)?;
    let mut stdout = io::stdout();
    let said = stdout.write_all(b"ready\n").and_then(|()| stdout.flush());
    said.map_err(NetworkError::Ready)?;
    // However the input ends.
    let _ended = io::copy(&mut io::stdin().lock(), &mut io::sink());
    drop(relay);
    Ok(())
}

/// Runs `porter dial PORT`: connects stdin and stdout to a port of the loopback inside.
pub(crate) fn dial(port: u16) -> ExitCode {
    let dialled = lazaret_gateway::dial(port, io::stdin(), io::stdout());
    let dialled = dialled.map_err(|source| NetworkError::Dial { port, source });
    crate::exit_with("dial", dialled)
}
