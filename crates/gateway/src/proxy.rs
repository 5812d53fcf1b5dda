//! The proxy: `CONNECT`, and absolute `http:` addresses.
//!
//! A plain request is the only one of its connection, and the answer says so
//! (`Connection: close`). Nothing can then hide behind it, and each is judged for itself.

use std::io::Write as _;

use lazaret_egress::EntryPoint;

use crate::door::{Carries, Passage};
use crate::head::{Field, Framing, Head, Version};
use crate::target::{self, Lost};

/// Serves one connection.
pub(crate) fn serve(mut passage: Passage<'_>) {
    let Some((head, rest)) = passage.head() else {
        return;
    };
    if head.method == "CONNECT" {
        connect(passage, &head, rest);
    } else {
        passage.via = EntryPoint::Http;
        request(passage, head, rest);
    }
}

fn connect(passage: Passage<'_>, head: &Head, rest: Vec<u8>) {
    // A body here has no meaning, and two readings (RFC 9110 section 9.3.6).
    let target = match (target::of_connect(head), head.framing()) {
        (Ok(target), Ok(Framing::Length(0))) => target,
        (Ok(_), _) => {
            let denied = lazaret_egress::Denied::BadRequest;
            return passage.refuse(Lost::new(head.target.as_bytes(), denied));
        }
        (Err(lost), _) => return passage.refuse(lost),
    };
    let id = passage.client.id;
    match passage.context.dial(&target, passage.via, id) {
        Ok(reached) => {
            let established = b"HTTP/1.1 200 Connection established\r\n\r\n";
            if passage.stream().write_all(established).is_ok() {
                passage.hand_over(target, reached, rest, Carries::Anything);
            }
        }
        Err(denied) => passage.answer(denied),
    }
}

fn request(passage: Passage<'_>, mut head: Head, rest: Vec<u8>) {
    match target::of_absolute(&head) {
        Ok((target, path)) => {
            head.target = path;
            // Written anew: what was judged is what is sent.
            let host = match target.port {
                lazaret_egress::Port::HTTP => target.host.to_string(),
                _ => target.to_string(),
            };
            head.fields.retain(|field| field.name != "host");
            let field = Field {
                name: "host".to_owned(),
                value: host.into_bytes(),
            };
            head.fields.insert(0, field);
            forward(passage, target, head, rest);
        }
        Err(lost) => passage.refuse(lost),
    }
}

/// Sends a judged request on, as the only one of its connection.
pub(crate) fn forward(
    passage: Passage<'_>,
    target: lazaret_egress::HostPort,
    mut head: Head,
    rest: Vec<u8>,
) {
    // `Head::parse` has read it: a head without a framing doesn't come here.
    let Ok(framing) = head.framing() else {
        return passage.answer(lazaret_egress::Denied::BadRequest);
    };
    let id = passage.client.id;
    let reached = match passage.context.dial(&target, passage.via, id) {
        Ok(reached) => reached,
        Err(denied) => return passage.answer(denied),
    };
    head.strip_hop_by_hop();
    if head.version == Version::Http11 {
        head.fields.push(Field {
            name: "connection".to_owned(),
            value: b"close".to_vec(),
        });
    }
    let sent = (&reached.stream).write_all(&head.to_bytes());
    match sent {
        Ok(()) => passage.hand_over(target, reached, rest, Carries::Request(framing)),
        Err(_) => passage.answer(lazaret_egress::Denied::Unreachable),
    }
}
