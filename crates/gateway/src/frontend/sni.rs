//! TLS on the loopback's port 443, for clients that know no proxy: the server name in the
//! ClientHello is the target. TLS itself is not terminated here.

use std::io::Write as _;

use lazaret_egress::{Denied, HostPort, Port};

use super::connection::{ClientConnection, TunnelMode};
use super::preamble::{self, Missing};
use crate::client_hello::{self, ClientHello, UNRECOGNIZED_NAME};

/// Serves one connection.
pub(crate) fn serve(connection: ClientConnection<'_>, port: Port) {
    let mut host = None;
    let whole = |bytes: &[u8]| match client_hello::read(bytes)? {
        ClientHello::Incomplete => Ok(None),
        ClientHello::For(name) => {
            host = Some(name);
            Ok(Some(bytes.len()))
        }
    };
    let read = preamble::read(connection.stream(), &connection.context.caps, whole);
    let (first, host) = match (read, host) {
        (Ok((first, _)), Some(host)) => (first, host),
        (Ok(_), None) | (Err(Missing::Silent), _) => return,
        (Err(Missing::Denied(denied)), _) => {
            // The preamble reader knows requests only.
            let denied = match denied {
                Denied::BadRequest => Denied::NotTls,
                denied => denied,
            };
            let (via, id) = (connection.via, connection.client.id);
            connection
                .context
                .log_denial(String::new(), via, id, denied);
            return alert(&connection);
        }
    };
    let target = HostPort::new(host, port);
    match connection
        .context
        .dial(&target, connection.via, connection.client.id)
    {
        Ok(reached) => connection.hand_over(target, reached, first, TunnelMode::Checked),
        Err(_) => alert(&connection),
    }
}

/// Sends the alert `unrecognized_name`.
fn alert(connection: &ClientConnection<'_>) {
    // A client that has gone misses the alert and nothing else.
    let _unread = connection.stream().write_all(&UNRECOGNIZED_NAME);
}
