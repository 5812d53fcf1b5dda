//! One request of the workload's, and the vendor's answer.

use std::io::{self, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use lazaret_egress::{Denied, EntryPoint, Event, Scrubber, Verdict};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use super::Broker;
use super::body_reader::{BodyError, BodyReader};
use super::forward;
use super::query::own_credential;
use super::source::{Source, SourceError};
use crate::context::Decision;
use crate::event_log::now;
use crate::http::{
    BadBody, Framing, HeadError, LAST_CHUNK, Recipient, RequestHead, Response, ResponseHead,
    encode_chunk,
};
use crate::pump::Budget;
use crate::{Client, Context};

/// Answers of the kind `1xx` that a vendor may send before the one that counts.
const MOST_INTERIM: usize = 16;

/// The longest path in the log, in bytes.
const LONGEST_PATH: usize = 256;

/// The longest name of a parameter in an answer, in characters.
const LONGEST_NAME: usize = 64;

type Upstream = Source<StreamOwned<ClientConnection, TcpStream>>;

/// Serves one connection of the workload's.
pub(super) fn serve(broker: &Broker, client: Client, context: &Context) {
    let idle = Duration::from_millis(context.caps.idle_ms);
    if client.stream.set_write_timeout(Some(idle)).is_err() {
        return;
    }
    let mut connection = Connection {
        broker,
        context,
        idle,
        id: client.id,
        client: Source::new(client.stream),
    };
    while let Ok(true) = connection.client.wait(idle) {
        if let Err(End) = connection.one() {
            return;
        }
    }
}

/// The connection ends: all that could be said was said.
struct End;

struct Connection<'a> {
    broker: &'a Broker,
    context: &'a Context,
    idle: Duration,
    id: u64,
    client: Source<UnixStream>,
}

/// How an answer came back.
#[derive(Default)]
struct Passed {
    status: u16,
    received: u64,
}

impl Connection<'_> {
    /// Serves one request. Ok when another may follow.
    fn one(&mut self) -> Result<(), End> {
        let head = self.head()?;
        let mut passed = Passed::default();
        let outcome = self.exchange(&head, &mut passed);
        let path = head.target.split('?').next().unwrap_or_default();
        let told = self.context.event_log.append(&Event::Broker {
            at: now(),
            id: self.id,
            route: self.broker.route.name.clone(),
            method: head.method.clone(),
            path: path.chars().take(LONGEST_PATH).collect(),
            status: passed.status,
            received: passed.received,
        });
        if told.is_err() {
            return Err(End);
        }
        match outcome {
            Ok(()) if head.fields.list("connection").all(|word| word != "close") => Ok(()),
            Ok(()) | Err(Failed::Gone) => Err(End),
            Err(Failed::Refused(answer)) => self.say(&answer),
        }
    }

    /// Says something itself, and ends the connection: what the workload may still be
    /// sending has no place in another request.
    fn say(&mut self, answer: &Response) -> Result<(), End> {
        drop(self.client.from.write_all(&answer.to_bytes()));
        // Closed with bytes unread, the connection would be reset and the answer lost.
        drop(self.client.from.shutdown(std::net::Shutdown::Write));
        let mut left = 1_u32 << 10;
        let short = Duration::from_secs(1);
        while left > 0 && matches!(self.client.wait(short), Ok(true)) {
            self.client.skip(self.client.buffered().len());
            left -= 1;
        }
        Err(End)
    }

    fn head(&mut self) -> Result<RequestHead, End> {
        let caps = &self.context.caps;
        let limit = usize::try_from(caps.head_bytes).unwrap_or(usize::MAX);
        let head = self.client.head(limit, Duration::from_millis(caps.head_ms));
        let (denied, answer) = match head.map(|bytes| RequestHead::parse(&bytes, Recipient::Origin))
        {
            Ok(Ok(head)) => return Ok(head),
            Ok(Err(bad)) => {
                let status = if bad == HeadError::Version { 505 } else { 400 };
                let answer =
                    Response::broker_error(status, format_args!("the request is refused: {bad}"));
                (Denied::BadRequest, answer)
            }
            Err(SourceError::Long(limit)) => {
                let what = format!("the head of a request may have {limit} bytes");
                (Denied::Head, Response::broker_error(431, what))
            }
            Err(SourceError::Slow) => {
                let what = "the head of the request took too long";
                (Denied::Head, Response::broker_error(408, what))
            }
            Err(SourceError::Cut | SourceError::Broken(_)) => return Err(End),
        };
        let target = &self.broker.route.target;
        drop(self.context.event_log.append(&Event::Decision {
            at: now(),
            id: self.id,
            via: EntryPoint::Broker,
            host: target.host.to_string(),
            port: Some(target.port.get()),
            verdict: Verdict::Denied,
            rule: None,
            reason: Some(denied),
            address: None,
        }));
        drop(self.say(&answer));
        Err(End)
    }

    fn exchange(&mut self, head: &RequestHead, passed: &mut Passed) -> Result<(), Failed> {
        let wants_to_be_asked = self.look(head)?;
        let mut upstream = self.connect()?;
        let request = forward::request(head, &self.broker.route);
        self.count(&self.context.budget.sent, request.len())?;
        upstream.from.write_all(&request).map_err(lost)?;
        upstream.from.flush().map_err(lost)?;
        if wants_to_be_asked {
            self.client
                .from
                .write_all(b"HTTP/1.1 100 Continue\r\n\r\n")
                .map_err(|_gone| Failed::Gone)?;
        }
        let mut body = BodyReader::new(head.framing());
        self.send(head.framing(), &mut body, &mut upstream)?;
        self.receive(head, &mut upstream, passed)?;
        match body.is_complete() {
            true => Ok(()),
            false => Err(Failed::Gone),
        }
    }

    /// Refuses what the broker does not do. True when the workload waits before its body.
    fn look(&self, head: &RequestHead) -> Result<bool, Failed> {
        if head.fields.values("upgrade").next().is_some() {
            let what =
                "connections are not upgraded here; use plain HTTP/1.1 with streamed answers";
            return Err(Response::broker_error(501, what).into());
        }
        // The answer would be the request, with the key (RFC 9110, 9.3.8).
        if head.method == "TRACE" {
            return Err(Response::broker_error(405, "TRACE is not served").into());
        }
        let placeholder = self.broker.route.placeholder();
        if let Some(name) = own_credential(&head.target, &placeholder) {
            let denied = Denied::Credential;
            let mut decision = Decision::of(&self.broker.route.target, EntryPoint::Broker, self.id);
            decision.reason = Some(denied);
            // Nothing passes, heard or not.
            let _unheard = self.context.log_decision(decision);
            let name: String = name.escape_debug().take(LONGEST_NAME).collect();
            let what = format!(
                "the request is refused: `{name}` in its query carries a credential, and \
                 the broker adds the only one that goes on; leave it out ({})",
                denied.code()
            );
            return Err(Response::broker_error(403, what).into());
        }
        let mut expected = head.fields.list("expect").peekable();
        let waits = expected.peek().is_some();
        match expected.all(|word| word == "100-continue") {
            true => Ok(waits && head.framing() != Framing::Nothing),
            false => {
                Err(Response::broker_error(417, "only `Expect: 100-continue` is known").into())
            }
        }
    }

    fn connect(&self) -> Result<Upstream, Failed> {
        let target = &self.broker.route.target;
        let dialled = self.context.dial(target, EntryPoint::Broker, self.id);
        let dialled = dialled.map(|reached| reached.stream);
        let socket = dialled.map_err(|denied| {
            let status = match denied {
                Denied::Unresolved | Denied::Unreachable => 502,
                _ => 403,
            };
            let code = denied.code();
            Response::broker_error(
                status,
                format_args!("{target} is not reached: {denied} ({code})"),
            )
        })?;
        let time = Duration::from_millis(self.context.caps.connect_ms);
        let connect = || {
            socket.set_nodelay(true)?;
            socket.set_read_timeout(Some(time))?;
            socket.set_write_timeout(Some(self.idle))?;
            let name = ServerName::try_from(target.host.to_string()).map_err(io::Error::other)?;
            let tls = ClientConnection::new(Arc::clone(&self.broker.tls), name);
            let mut stream = StreamOwned::new(tls.map_err(io::Error::other)?, socket);
            while stream.conn.is_handshaking() {
                let _moved = stream.conn.complete_io(&mut stream.sock)?;
            }
            Ok::<_, io::Error>(stream)
        };
        let stream = connect().map_err(|error| {
            Response::broker_error(
                502,
                format_args!(
                    "no verified connection to {target}: {error}; if an authority of your own \
                     vouches for it, name its certificate as `ca` in network.toml"
                ),
            )
        })?;
        Ok(Source::new(stream))
    }

    /// Counts bytes that are about to be passed on. Where the session may move no more, that
    /// is told, and they are not (NET-14).
    fn count(&self, left: &AtomicU64, bytes: usize) -> Result<(), Failed> {
        Budget::take(left, bytes).map_err(|denied| {
            let mut decision = Decision::of(&self.broker.route.target, EntryPoint::Broker, self.id);
            decision.reason = Some(denied);
            // Nothing more passes, heard or not.
            let _unheard = self.context.log_decision(decision);
            Response::broker_error(403, format_args!("{denied} ({})", denied.code())).into()
        })
    }

    /// Passes the request's body on, piece by piece.
    fn send(
        &mut self,
        framing: Framing,
        body: &mut BodyReader,
        upstream: &mut Upstream,
    ) -> Result<(), Failed> {
        loop {
            let piece = match body.next(&mut self.client, self.idle) {
                Ok(piece) => piece,
                Err(BodyError::Body(bad @ BadBody::Chunk)) => {
                    let what = format!("the request is refused: {bad}");
                    return Err(Response::broker_error(400, what).into());
                }
                Err(BodyError::Body(BadBody::Truncated) | BodyError::Source(_)) => {
                    return Err(Failed::Gone);
                }
            };
            let is_last = piece.is_none();
            let bytes = match (framing, piece) {
                (Framing::Chunked, piece) => encode_chunk(&piece.unwrap_or_default()),
                (_, Some(piece)) => piece,
                (_, None) => Vec::new(),
            };
            self.count(&self.context.budget.sent, bytes.len())?;
            let sent = upstream.from.write_all(&bytes);
            if sent.and_then(|()| upstream.from.flush()).is_err() || is_last {
                // A vendor that has read enough has answered already.
                return Ok(());
            }
        }
    }

    /// Passes the answer on, as it comes.
    fn receive(
        &mut self,
        head: &RequestHead,
        upstream: &mut Upstream,
        passed: &mut Passed,
    ) -> Result<(), Failed> {
        let answer = self.answer(head, upstream)?;
        passed.status = answer.status;
        let framing = match answer.framing() {
            empty if empty.is_empty() => empty,
            // Scrubbing changes lengths.
            _ => Framing::Chunked,
        };
        let patterns = &self.broker.patterns;
        let out = forward::response(&answer, &head.method, framing, patterns);
        self.count(&self.context.budget.received, out.len())?;
        self.client
            .from
            .write_all(&out)
            .map_err(|_gone| Failed::Gone)?;
        let is_encoded = answer
            .fields
            .list("content-encoding")
            .any(|word| word != "identity");
        let mut scrubber = (!is_encoded).then(|| Scrubber::new(patterns.clone()));
        let mut body = BodyReader::new(answer.framing());
        loop {
            // Cut in the middle: the last chunk is not sent, so no reader takes it for whole.
            let piece = body
                .next(upstream, self.idle)
                .map_err(|_cut| Failed::Gone)?;
            let is_last = piece.is_none();
            let piece = piece.unwrap_or_default();
            let counted = self.count(&self.context.budget.received, piece.len());
            counted.map_err(|_half_answered| Failed::Gone)?;
            passed.received += piece.len() as u64;
            let mut out = Vec::new();
            match &mut scrubber {
                None => out = piece,
                Some(scrubber) if is_last => scrubber.finish(&mut out),
                Some(scrubber) => scrubber.push(&piece, &mut out),
            }
            let mut bytes = Vec::new();
            if framing == Framing::Chunked && !out.is_empty() {
                bytes = encode_chunk(&out);
            }
            if framing == Framing::Chunked && is_last {
                bytes.extend_from_slice(LAST_CHUNK);
            }
            self.client
                .from
                .write_all(&bytes)
                .map_err(|_gone| Failed::Gone)?;
            if is_last {
                return Ok(());
            }
        }
    }

    /// Reads the answer that counts.
    fn answer(&self, head: &RequestHead, upstream: &mut Upstream) -> Result<ResponseHead, Failed> {
        let limit = usize::try_from(self.context.caps.head_bytes).unwrap_or(usize::MAX);
        for _ in 0..MOST_INTERIM {
            let bytes = upstream.head(limit, self.idle).map_err(lost)?;
            let answer = ResponseHead::parse(&bytes, &head.method).map_err(lost)?;
            match answer.status {
                101 => return Err(lost("it upgrades without being asked")),
                100..200 => {}
                _ => return Ok(answer),
            }
        }
        Err(lost("it does not come to an answer"))
    }
}

/// Why an exchange is not whole.
enum Failed {
    /// Nothing of an answer went out yet, so this can.
    Refused(Response),
    /// One side is gone, or the answer broke off.
    Gone,
}

impl From<Response> for Failed {
    fn from(answer: Response) -> Self {
        Self::Refused(answer)
    }
}

fn lost(error: impl std::fmt::Display) -> Failed {
    let what = format!("the vendor's server gave no answer that can be read: {error}; try again");
    Failed::Refused(Response::broker_error(502, what))
}
