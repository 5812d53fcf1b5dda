//! What the doors of a gateway have in common: a judged connection becomes a tunnel.

use std::os::unix::net::UnixStream;
use std::sync::Arc;

use lazaret_egress::{Denied, EntryPoint, Event, HostPort};

use crate::context::{Client, Context, Decision, Reached, Slot};
use crate::filter::{Answer, Body, SameName};
use crate::greeting::UNRECOGNIZED_NAME;
use crate::head::{Framing, HeadError, end_of_head};
use crate::journal;
use crate::pump::{End, Ended, Label, Pump, Tunnel, Watch};
use crate::target::Lost;
use crate::{Head, arrive, refusal};

/// A connection on its way through a door.
#[derive(Debug)]
pub(crate) struct Passage<'a> {
    pub(crate) context: &'a Arc<Context>,
    pub(crate) pump: &'a Pump,
    pub(crate) client: Client,
    pub(crate) slot: Slot,
    pub(crate) via: EntryPoint,
}

/// What passes in the tunnel.
#[derive(Debug)]
pub(crate) enum Carries {
    /// Anything, but no greeting for another host.
    Anything,
    /// What was greeted already.
    Greeted,
    /// One request's body, and its answer.
    Request(Framing),
}

impl Passage<'_> {
    /// Reads the head of a request; `None` when there is none and that was told.
    pub(crate) fn head(&self) -> Option<(Head, Vec<u8>)> {
        let whole = |bytes: &[u8]| end_of_head(bytes).map_err(|_: HeadError| Denied::BadRequest);
        let read = arrive::beginning(&self.client.stream, &self.context.caps, whole);
        let denied = match read {
            Ok((head, rest)) => match Head::parse(&head) {
                Ok(head) => return Some((head, rest)),
                Err(_) => Denied::BadRequest,
            },
            Err(arrive::Missing::Silent) => return None,
            Err(arrive::Missing::Denied(denied)) => denied,
        };
        self.refuse(Lost::new(b"", denied));
        None
    }

    /// Tells a denial, to the log first and then to a client that speaks HTTP.
    pub(crate) fn refuse(&self, lost: Lost) {
        let Lost { asked, denied } = lost;
        self.context.deny(asked, self.via, self.client.id, denied);
        self.answer(denied);
    }

    /// Tells a client that speaks HTTP why it is denied.
    pub(crate) fn answer(&self, denied: Denied) {
        // It may not want to know.
        let _heard = refusal::write(&self.client.stream, denied);
    }

    /// Returns the client's connection.
    pub(crate) fn stream(&self) -> &UnixStream {
        &self.client.stream
    }

    /// Makes a tunnel of it.
    pub(crate) fn hand_over(
        self,
        target: HostPort,
        reached: Reached,
        first: Vec<u8>,
        carries: Carries,
    ) {
        let Self {
            context,
            pump,
            client,
            slot,
            via,
        } = self;
        let most = usize::try_from(context.caps.head_bytes).unwrap_or(usize::MAX);
        let (sent, received): (Watch, Watch) = match carries {
            Carries::Anything => {
                let filter = SameName::new(target.host.clone(), most);
                (Some(Box::new(filter)), None)
            }
            Carries::Greeted => (None, None),
            Carries::Request(framing) => (
                Some(Box::new(Body::new(framing))),
                Some(Box::new(Answer::default())),
            ),
        };
        let farewell: &'static [u8] = match carries {
            Carries::Anything => &UNRECOGNIZED_NAME,
            Carries::Greeted | Carries::Request(_) => b"",
        };
        slot.no_longer_served();
        let (id, for_end) = (client.id, Arc::clone(context));
        let label = Label {
            via,
            target: target.clone(),
            address: reached.address,
        };
        pump.add(Tunnel {
            client: End::Unix(client.stream),
            server: End::Tcp(reached.stream),
            first,
            sent,
            received,
            farewell,
            label: Some(label),
            ended: Box::new(move |ended| {
                tell_end(&for_end, &target, via, id, &ended);
                drop(slot);
            }),
        });
        // Judged by a policy that another has replaced meanwhile.
        let policy = context.policy();
        if !Arc::ptr_eq(&policy, &reached.policy) {
            pump.judge_again(&policy);
        }
    }
}

/// Tells how a tunnel ended, and first what was denied when a greeting ended it.
fn tell_end(context: &Context, target: &HostPort, via: EntryPoint, id: u64, ended: &Ended) {
    if let Some(denied) = ended.reason {
        let mut decision = Decision::of(target, via, id);
        decision.reason = Some(denied);
        if denied == Denied::Rule {
            let policy = context.policy();
            decision.rule = policy.denying(target).map(ToString::to_string);
        }
        // It has ended, heard or not.
        let _unheard = context.tell(decision);
    }
    let _unheard = context.journal.tell(&Event::Closed {
        at: journal::now(),
        id,
        sent: ended.sent,
        received: ended.received,
        duration_ms: u64::try_from(ended.lasted.as_millis()).unwrap_or(u64::MAX),
        reason: ended.reason,
    });
}
