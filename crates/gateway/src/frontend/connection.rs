//! `ClientConnection`: a connection at an entry point, until it becomes a tunnel.

use std::os::unix::net::UnixStream;
use std::sync::Arc;

use lazaret_egress::{Denied, EntryPoint, Event, HostPort};

use super::answer_filter::AnswerFilter;
use super::preamble::{self, Missing};
use super::request_body::RequestBody;
use super::sni_guard::SniGuard;
use super::target::RejectedRequest;
use crate::client_hello::UNRECOGNIZED_NAME;
use crate::context::{Client, Context, Decision, Reached, Slot};
use crate::event_log;
use crate::http::{self, Framing, HeadError, Recipient, RequestHead, end_of_head};
use crate::pump::{End, Ended, Label, OptionalFilter, Pump, TunnelSpec};

/// A connection at an entry point.
#[derive(Debug)]
pub(crate) struct ClientConnection<'a> {
    pub(crate) context: &'a Arc<Context>,
    pub(crate) pump: &'a Pump,
    pub(crate) client: Client,
    pub(crate) slot: Slot,
    pub(crate) via: EntryPoint,
}

/// What passes in a tunnel.
#[derive(Debug, Clone, Copy)]
pub(super) enum TunnelMode {
    /// Anything, but no ClientHello for another host.
    Guarded,
    /// Anything: its ClientHello has been read.
    Checked,
    /// The body of one request that is framed so, and its answer.
    Request(Framing),
}

impl ClientConnection<'_> {
    /// Reads the head of a request, and returns it with the bytes behind it; `None` if there
    /// is none, which has been reported then.
    pub(super) fn read_head(&self) -> Option<(RequestHead, Vec<u8>)> {
        let whole = |bytes: &[u8]| end_of_head(bytes).map_err(|_: HeadError| Denied::BadRequest);
        let read = preamble::read(&self.client.stream, &self.context.caps, whole);
        let denied = match read {
            Ok((head, rest)) => match RequestHead::parse(&head, Recipient::Proxy) {
                Ok(head) => return Some((head, rest)),
                Err(_) => Denied::BadRequest,
            },
            Err(Missing::Silent) => return None,
            Err(Missing::Denied(denied)) => denied,
        };
        self.reject(RejectedRequest::new(b"", denied));
        None
    }

    /// Reports a denial, to the log first and then to a client that speaks HTTP.
    pub(super) fn reject(&self, rejected: RejectedRequest) {
        let RejectedRequest { asked, denied } = rejected;
        self.context
            .log_denial(asked, self.via, self.client.id, denied);
        self.answer_denial(denied);
    }

    /// Tells a client that speaks HTTP why it is denied.
    pub(super) fn answer_denial(&self, denied: Denied) {
        // A client that has gone, or does not read, misses the answer and nothing else.
        let _unread = http::write_denial(&self.client.stream, denied);
    }

    /// Returns the client's stream.
    pub(super) fn stream(&self) -> &UnixStream {
        &self.client.stream
    }

    /// Makes a tunnel of the connection. `first` is what the client has sent already.
    pub(super) fn hand_over(
        self,
        target: HostPort,
        reached: Reached,
        first: Vec<u8>,
        mode: TunnelMode,
    ) {
        let Self {
            context,
            pump,
            client,
            slot,
            via,
        } = self;
        let most = usize::try_from(context.caps.head_bytes).unwrap_or(usize::MAX);
        let (sent, received): (OptionalFilter, OptionalFilter) = match mode {
            TunnelMode::Guarded => {
                let guard = SniGuard::new(target.host.clone(), most);
                (Some(Box::new(guard)), None)
            }
            TunnelMode::Checked => (None, None),
            TunnelMode::Request(framing) => (
                Some(Box::new(RequestBody::new(framing))),
                Some(Box::new(AnswerFilter::default())),
            ),
        };
        let farewell: &'static [u8] = match mode {
            TunnelMode::Guarded => &UNRECOGNIZED_NAME,
            TunnelMode::Checked | TunnelMode::Request(_) => b"",
        };
        slot.no_longer_served();
        let (id, for_end) = (client.id, Arc::clone(context));
        let label = Label {
            via,
            target: target.clone(),
            address: reached.address,
        };
        pump.add(TunnelSpec {
            client: End::Unix(client.stream),
            server: End::Tcp(reached.stream),
            first,
            sent,
            received,
            farewell,
            label: Some(label),
            ended: Box::new(move |ended| {
                log_end(&for_end, &target, via, id, &ended);
                drop(slot);
            }),
        });
        // The policy that allowed it may have been replaced meanwhile.
        let policy = context.policy();
        if !Arc::ptr_eq(&policy, &reached.policy) {
            pump.judge_again(&policy);
        }
    }
}

/// Reports how a tunnel ended, and first what was denied if a ClientHello ended it.
fn log_end(context: &Context, target: &HostPort, via: EntryPoint, id: u64, ended: &Ended) {
    if let Some(denied) = ended.reason {
        let mut decision = Decision::of(target, via, id);
        decision.reason = Some(denied);
        if denied == Denied::Rule {
            let policy = context.policy();
            decision.rule = policy.denying(target).map(ToString::to_string);
        }
        // The tunnel has ended, whether the launcher reads this or not.
        let _unread = context.log_decision(decision);
    }
    let _unread = context.event_log.append(&Event::Closed {
        at: event_log::now(),
        id,
        sent: ended.sent,
        received: ended.received,
        duration_ms: u64::try_from(ended.lasted.as_millis()).unwrap_or(u64::MAX),
        reason: ended.reason,
    });
}
