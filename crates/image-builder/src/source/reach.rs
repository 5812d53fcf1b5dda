//! Asks whether a vendor's site answers, before an install step waits for it.

use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::mpsc;
use std::time::Duration;

use super::source_error::SourceError;

/// How long a vendor's site may take to answer before the next source is tried.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Connects to `host:port`, names included.
///
/// # Errors
/// [`SourceError::Unreachable`] if nothing answers within [`TIMEOUT`].
pub(super) fn check(site: &str) -> Result<(), SourceError> {
    let unreachable = |reason: String| SourceError::Unreachable {
        site: site.to_owned(),
        reason,
    };
    let (answer, answered) = mpsc::channel();
    let target = site.to_owned();
    // Not joined: a resolver that hangs must not hold the build.
    std::thread::spawn(move || {
        let connected = target.to_socket_addrs().and_then(|addresses| {
            let mut last = std::io::Error::other("the name has no address");
            for address in addresses {
                match TcpStream::connect_timeout(&address, TIMEOUT) {
                    Ok(_) => return Ok(()),
                    Err(error) => last = error,
                }
            }
            Err(last)
        });
        // The receiver is gone if it took too long.
        drop(answer.send(connected));
    });
    match answered.recv_timeout(TIMEOUT) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(unreachable(error.to_string())),
        Err(_) => Err(unreachable(format!(
            "no answer within {} s",
            TIMEOUT.as_secs()
        ))),
    }
}
