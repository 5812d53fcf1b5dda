//! `porter relay PORT=SOCKET…`: loopback ports inside, carried to the gateway's sockets.
//!
//! One line on stdout, `ready`, when every port listens; the end of stdin or of the
//! container ends it. It runs as the agent, which can stop it: then there is no way out.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use lazaret_gateway::{Lead, Relay, RelayError};

/// Why there is no relay.
#[derive(Debug, thiserror::Error)]
enum Error {
    /// The arguments make no sense.
    #[error("usage: porter relay PORT=SOCKET…")]
    Usage,
    /// The relay itself.
    #[error(transparent)]
    Relay(#[from] RelayError),
    /// Nobody hears that it listens.
    #[error("can't say that it listens: {0}")]
    Ready(io::Error),
}

/// Runs the verb.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let leads: Option<Vec<Lead>> = arguments.map(|argument| lead(&argument)).collect();
    let outcome = match leads {
        Some(leads) if !leads.is_empty() => relay(&leads),
        _ => Err(Error::Usage),
    };
    crate::settle("relay", outcome)
}

fn lead(argument: &OsString) -> Option<Lead> {
    let (port, socket) = argument.to_str()?.split_once('=')?;
    Some(Lead {
        port: port.parse().ok()?,
        socket: socket.into(),
    })
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
