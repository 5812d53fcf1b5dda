//! `porter relay PORT=SOCKET…`: loopback ports inside, carried to the gateway's sockets.
//!
//! One line on stdout, `ready`, when every port listens; the end of stdin or of the
//! container ends it. It runs as the agent, which can stop it: then there is no way out.

use std::io::{self, Write as _};
use std::process::ExitCode;

use lazaret_gateway::{Lead, Relay, RelayError};
use lazaret_protocol::PortRoute;

/// Why there is no relay.
#[derive(Debug, thiserror::Error)]
enum Error {
    /// The relay itself.
    #[error(transparent)]
    Relay(#[from] RelayError),
    /// The launcher can't be told that the relay listens.
    #[error("can't say that it listens: {0}")]
    Ready(io::Error),
}

/// Runs the verb.
pub(crate) fn run(routes: &[PortRoute]) -> ExitCode {
    let lead = |route: &PortRoute| Lead {
        port: route.port,
        socket: (&route.socket).into(),
    };
    let leads: Vec<Lead> = routes.iter().map(lead).collect();
    crate::settle("relay", relay(&leads))
}

fn relay(leads: &[Lead]) -> Result<(), Error> {
    let relay = Relay::start(leads)?;
    let mut stdout = io::stdout();
    let said = stdout.write_all(b"ready\n").and_then(|()| stdout.flush());
    said.map_err(Error::Ready)?;
    // However the input ends.
    let _ended = io::copy(&mut io::stdin().lock(), &mut io::sink());
    drop(relay);
    Ok(())
}
