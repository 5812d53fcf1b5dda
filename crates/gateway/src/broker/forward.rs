//! Writes the heads that the broker sends on.

use lazaret_egress::{BrokerRoute, HostPort, Patterns, Scheme, is_credential};
use zeroize::Zeroizing;

use super::fields::passes;
use super::query::without_placeholder;
use crate::http::{Field, Fields, Framing, RequestHead, ResponseHead};

/// Fields that are written anew, beside those of one hop.
const WRITTEN_ANEW: [&str; 4] = ["content-length", "expect", "host", "transfer-encoding"];

/// Writes the request as it goes to the vendor, with the key.
pub(super) fn request(head: &RequestHead, route: &BrokerRoute) -> Zeroizing<Vec<u8>> {
    let key = match route.scheme {
        Scheme::Raw => "",
        Scheme::Bearer => "Bearer ",
    };
    let key = [key, route.secret.expose()];
    // A text that grows would leave copies of the key behind.
    let mut out = Zeroizing::new(Vec::with_capacity(
        4096 + size(head) + key.iter().map(|part| part.len()).sum::<usize>(),
    ));
    let mut write = |text: &str| out.extend_from_slice(text.as_bytes());
    let target = without_placeholder(&head.target, &route.placeholder());
    write(&format!("{} {target} HTTP/1.1\r\n", head.method));
    write(&format!("host: {}\r\n", authority(&route.target)));
    write(&format!("{}: ", route.header.to_ascii_lowercase()));
    key.iter().for_each(|part| write(part));
    write("\r\n");
    // What is compressed can't be scrubbed of a key that comes back.
    write("accept-encoding: identity\r\nconnection: close\r\n");
    write(&framing(head.framing(), &head.method));
    for field in passed_on(&head.fields, |name| passes(name, route)) {
        field.write_to(&mut out);
    }
    out.extend_from_slice(b"\r\n");
    out
}

fn size(head: &RequestHead) -> usize {
    let fields = head.fields.iter();
    let fields = fields.map(|field| field.name.len() + field.value.len() + 4);
    head.method.len() + head.target.len() + fields.sum::<usize>()
}

/// Writes the response's head as it goes to the workload. `framing` is how its body will be
/// written.
pub(super) fn response(
    head: &ResponseHead,
    method: &str,
    framing_out: Framing,
    patterns: &Patterns,
) -> Vec<u8> {
    let mut out = format!("HTTP/1.1 {} \r\n", head.status).into_bytes();
    match framing_out {
        // How long the answer to a GET would be is a plain field of the answer to a HEAD.
        Framing::Nothing if method == "HEAD" => {}
        // These have no body whatever they say (RFC 9110, 6.4.1).
        Framing::Nothing if matches!(head.status, 204 | 304) => {}
        other => out.extend_from_slice(framing(other, "").as_bytes()),
    }
    for field in passed_on(&head.fields, |name| !is_credential(name.as_bytes())) {
        let mut line = Vec::new();
        field.write_to(&mut line);
        out.extend_from_slice(&patterns.scrub(&line));
    }
    out.extend_from_slice(b"\r\n");
    out
}

fn framing(framing: Framing, method: &str) -> String {
    match framing {
        Framing::Length(length) => format!("content-length: {length}\r\n"),
        Framing::Chunked => "transfer-encoding: chunked\r\n".to_owned(),
        // Servers want it said for methods that usually carry something.
        Framing::Nothing if matches!(method, "GET" | "HEAD" | "DELETE" | "OPTIONS") => {
            String::new()
        }
        Framing::Nothing => "content-length: 0\r\n".to_owned(),
        Framing::UntilClose => "connection: close\r\n".to_owned(),
    }
}

/// Returns the fields that are sent on: those that `passes` accepts, without those of this hop
/// and those that are written anew.
fn passed_on(fields: &Fields, passes: impl Fn(&str) -> bool) -> impl Iterator<Item = &Field> {
    let hop_by_hop = fields.hop_by_hop();
    fields.iter().filter(move |field| {
        passes(&field.name)
            && !hop_by_hop.contains(&field.name)
            && !WRITTEN_ANEW.contains(&field.name.as_str())
    })
}

/// `Host` leaves out the port that goes without saying (RFC 9110, 7.2).
fn authority(target: &HostPort) -> String {
    match target.port.get() {
        443 => target.host.to_string(),
        port => format!("{}:{port}", target.host),
    }
}
