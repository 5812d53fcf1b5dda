//! The broker's readers, for fuzz targets: what would be sent of what came.

use std::time::Duration;

use lazaret_egress::{BrokerRoute, Patterns};

use super::body_reader::BodyReader;
use super::forward;
use super::query::own_credential;
use super::source::Source;
use crate::http::{Framing, LAST_CHUNK, Recipient, RequestHead, ResponseHead, encode_chunk};

const LIMIT: usize = 64 * 1024;
const TIME: Duration = Duration::from_secs(60);

/// A message that was read, and what is sent for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// The request's method, or the answer's status.
    pub first: String,
    /// The request's target.
    pub target: String,
    /// The body, without framing.
    pub body: Vec<u8>,
    /// What is sent.
    pub sent: Vec<u8>,
}

/// Reads a request as from the workload.
pub fn request(bytes: &[u8], route: &BrokerRoute) -> Option<Passed> {
    let mut source = Source::new(bytes);
    let head = RequestHead::parse(&source.head(LIMIT, TIME).ok()?, Recipient::Origin).ok()?;
    if own_credential(&head.target, &route.placeholder()).is_some() {
        return None;
    }
    let body = body(head.framing(), &mut source)?;
    let mut sent = forward::request(&head, route).to_vec();
    write(&mut sent, head.framing(), &body);
    Some(Passed {
        first: head.method,
        target: head.target,
        body,
        sent,
    })
}

/// Reads the answer to a request, as from the vendor.
pub fn response(bytes: &[u8], method: &str, patterns: &Patterns) -> Option<Passed> {
    let mut source = Source::new(bytes);
    let head = ResponseHead::parse(&source.head(LIMIT, TIME).ok()?, method).ok()?;
    let body = body(head.framing(), &mut source)?;
    let framing = match head.framing() {
        Framing::Nothing => Framing::Nothing,
        _ => Framing::Chunked,
    };
    let mut sent = forward::response(&head, method, framing, patterns);
    write(&mut sent, framing, &body);
    Some(Passed {
        first: head.status.to_string(),
        target: String::new(),
        body,
        sent,
    })
}

fn body(framing: Framing, source: &mut Source<&[u8]>) -> Option<Vec<u8>> {
    let (mut body, mut whole) = (BodyReader::new(framing), Vec::new());
    while let Some(piece) = body.next(source, TIME).ok()? {
        assert!(!piece.is_empty(), "a piece is never empty");
        whole.extend(piece);
    }
    assert!(body.is_complete(), "it was read to its end");
    Some(whole)
}

fn write(sent: &mut Vec<u8>, framing: Framing, body: &[u8]) {
    match framing {
        Framing::Chunked => {
            for piece in body.chunks(7) {
                sent.extend_from_slice(&encode_chunk(piece));
            }
            sent.extend_from_slice(LAST_CHUNK);
        }
        _ => sent.extend_from_slice(body),
    }
}
