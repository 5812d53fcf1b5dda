//! The proxy: `CONNECT`, and absolute `http:` addresses.
//!
//! A plain request is the only one of its connection, and the answer says so
//! (`Connection: close`). Nothing can then hide behind it, and each is judged for itself.

use std::io::Write as _;

use lazaret_egress::{Denied, EntryPoint, HostPort, Port};

use super::connection::{ClientConnection, TunnelMode};
use super::target::{self, RejectedRequest};
use crate::http::{Field, RequestHead, Version};

/// Serves one connection.
pub(crate) fn serve(mut connection: ClientConnection<'_>) {
    let Some((head, rest)) = connection.read_head() else {
        return;
    };
    if head.method == "CONNECT" {
        connect(connection, &head, rest);
    } else {
        connection.via = EntryPoint::Http;
        request(connection, head, rest);
    }
}

fn connect(connection: ClientConnection<'_>, head: &RequestHead, rest: Vec<u8>) {
    // A body here has no meaning, and two readings (RFC 9110 section 9.3.6).
    let target = match (target::of_connect(head), head.framing().is_empty()) {
        (Ok(target), true) => target,
        (Ok(_), false) => {
            let denied = Denied::BadRequest;
            return connection.reject(RejectedRequest::new(head.target.as_bytes(), denied));
        }
        (Err(rejected), _) => return connection.reject(rejected),
    };
    let id = connection.client.id;
    match connection.context.dial(&target, connection.via, id) {
        Ok(reached) => {
            let established = b"HTTP/1.1 200 Connection established\r\n\r\n";
            if connection.stream().write_all(established).is_ok() {
                connection.hand_over(target, reached, rest, TunnelMode::Guarded);
            }
        }
        Err(denied) => connection.answer_denial(denied),
    }
}

fn request(connection: ClientConnection<'_>, mut head: RequestHead, rest: Vec<u8>) {
    match target::of_absolute(&head) {
        Ok((target, path)) => {
            head.target = path;
            // Written anew: what was judged is what is sent.
            let host = match target.port {
                Port::HTTP => target.host.to_string(),
                _ => target.to_string(),
            };
            head.fields.0.retain(|field| field.name != "host");
            let field = Field {
                name: "host".to_owned(),
                value: host.into_bytes(),
            };
            head.fields.0.insert(0, field);
            forward(connection, target, head, rest);
        }
        Err(rejected) => connection.reject(rejected),
    }
}

/// Sends a judged request on, as the only one of its connection.
pub(super) fn forward(
    connection: ClientConnection<'_>,
    target: HostPort,
    mut head: RequestHead,
    rest: Vec<u8>,
) {
    let framing = head.framing();
    let id = connection.client.id;
    let reached = match connection.context.dial(&target, connection.via, id) {
        Ok(reached) => reached,
        Err(denied) => return connection.answer_denial(denied),
    };
    head.fields.remove_hop_by_hop();
    if head.version == Version::Http11 {
        head.fields.0.push(Field {
            name: "connection".to_owned(),
            value: b"close".to_vec(),
        });
    }
    let sent = (&reached.stream).write_all(&head.to_bytes());
    match sent {
        Ok(()) => connection.hand_over(target, reached, rest, TunnelMode::Request(framing)),
        Err(_) => connection.answer_denial(Denied::Unreachable),
    }
}
