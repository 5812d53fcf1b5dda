//! `Tunnel`: a tunnel that a worker carries.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use lazaret_egress::{Denied, Policy};
use rustix::event::epoll::{self, EventData, EventFlags};

use super::budget::Budget;
use super::direction::{Direction, OnLoss, Sender};
use super::spec::{End, Ended, Label, TunnelSpec};

/// The client's side, and the direction to the server.
const CLIENT: usize = 0;
/// The server's side, and the direction to the client.
const SERVER: usize = 1;

/// A tunnel that a worker carries.
pub(super) struct Tunnel {
    ends: [End; 2],
    /// Each from the end of the same index to the other.
    directions: [Direction; 2],
    /// What epoll is asked for each end; `None` for one that has gone.
    interests: [Option<EventFlags>; 2],
    farewell: &'static [u8],
    label: Option<Label>,
    ended: Option<Box<dyn FnOnce(Ended) + Send>>,
    began: Instant,
    /// When something moved last, and how much had moved then.
    moved: (Instant, u64),
    /// Since when only the client's end is waited for.
    drained: Option<Instant>,
}

/// How long a client that has its answer may take to close.
const LINGER: Duration = Duration::from_secs(5);

/// Returns what epoll calls an end of the tunnel `key`.
fn data(key: u64, end: usize) -> EventData {
    EventData::new_u64(key << 1 | end as u64)
}

/// Returns the key and the end that an event is about.
pub(super) fn of_data(data: EventData) -> (u64, usize) {
    let number = data.u64();
    (number >> 1, usize::from(number & 1 == 1))
}

impl Tunnel {
    /// Takes a tunnel over, and returns it with what its client has sent already.
    pub(super) fn new(spec: TunnelSpec) -> (Self, Vec<u8>) {
        let tunnel = Self {
            ends: [spec.client, spec.server],
            directions: [
                Direction::new(spec.sent, OnLoss::Drain),
                Direction::new(spec.received, OnLoss::End),
            ],
            interests: [None; 2],
            farewell: spec.farewell,
            label: spec.label,
            ended: Some(spec.ended),
            began: Instant::now(),
            moved: (Instant::now(), 0),
            drained: None,
        };
        (tunnel, spec.first)
    }

    /// Begins to watch both ends, and passes on what the client has sent already.
    ///
    /// # Errors
    ///
    /// A filter or the budget says no; here as in [`Tunnel::act`], closing is the caller's.
    pub(super) fn begin(
        &mut self,
        first: &[u8],
        epoll: &OwnedFd,
        key: u64,
        budget: &Budget,
    ) -> Result<Going, Denied> {
        for (end, side) in self.ends.iter().enumerate() {
            let added = side
                .prepare()
                .map_err(|_| Denied::Unreachable)
                .and_then(|()| {
                    epoll::add(epoll, side, data(key, end), EventFlags::empty())
                        .map_err(|_| Denied::Unreachable)
                });
            added?;
            self.interests[end] = Some(EventFlags::empty());
        }
        self.directions[CLIENT].take(first, &self.ends[SERVER], &budget.sent)?;
        Ok(self.watch(epoll, key))
    }

    /// Acts on an event of one end.
    pub(super) fn act(
        &mut self,
        end: usize,
        flags: EventFlags,
        scratch: &mut [u8],
        epoll: &OwnedFd,
        key: u64,
        budget: &Budget,
    ) -> Result<Going, Denied> {
        if flags.intersects(EventFlags::HUP | EventFlags::ERR) && self.interests[end].is_some() {
            // It would be reported again and again. An end that has gone takes nothing more;
            // what it has left behind is still delivered.
            let _removed = epoll::delete(epoll, &self.ends[end]);
            self.interests[end] = None;
            self.directions[1 - end].abandon();
        }
        for from in [CLIENT, SERVER] {
            let sender = match self.interests[from] {
                Some(_) => Sender::There,
                None => Sender::Gone,
            };
            let of_this_end = from == end && flags.intersects(EventFlags::IN | EventFlags::RDHUP);
            let to_this_end = from != end && flags.contains(EventFlags::OUT);
            if of_this_end || to_this_end || sender == Sender::Gone {
                let left = match from {
                    CLIENT => &budget.sent,
                    _ => &budget.received,
                };
                let (from_end, to_end) = (&self.ends[from], &self.ends[1 - from]);
                self.directions[from].carry(from_end, to_end, sender, scratch, left)?;
            }
        }
        Ok(self.watch(epoll, key))
    }

    /// Asks epoll for what is wanted now.
    fn watch(&mut self, epoll: &OwnedFd, key: u64) -> Going {
        let [client_over, server_over] = [CLIENT, SERVER].map(|end| self.directions[end].is_over());
        let both_gone = self.interests == [None; 2];
        if (client_over && server_over) || both_gone {
            return Going::Over;
        }
        if server_over && self.directions[CLIENT].is_drained() && self.drained.is_none() {
            self.drained = Some(Instant::now());
        }
        for end in [CLIENT, SERVER] {
            let Some(was) = self.interests[end] else {
                continue;
            };
            let mut wanted = EventFlags::empty();
            wanted.set(EventFlags::IN, self.directions[end].wants_to_read());
            wanted.set(EventFlags::OUT, self.directions[1 - end].wants_to_write());
            if wanted != was {
                let changed = epoll::modify(epoll, &self.ends[end], data(key, end), wanted);
                if changed.is_err() {
                    return Going::Over;
                }
                self.interests[end] = Some(wanted);
            }
        }
        Going::On
    }

    /// Whether the client has had its answer, and the time to close.
    pub(super) fn has_lingered(&self, now: Instant) -> bool {
        self.drained
            .is_some_and(|since| now.saturating_duration_since(since) > LINGER)
    }

    /// Whether nothing has moved for longer than `idle`, by what has moved until `now`.
    pub(super) fn is_idle(&mut self, now: Instant, idle: Duration) -> bool {
        let moved = self.directions[CLIENT].moved + self.directions[SERVER].moved;
        if moved != self.moved.1 {
            self.moved = (now, moved);
        }
        now.saturating_duration_since(self.moved.0) > idle
    }

    /// Says why a policy would not allow it.
    pub(super) fn judge(&self, policy: &Policy) -> Result<(), Denied> {
        let Some(label) = &self.label else {
            return Ok(());
        };
        policy.judge_name(&label.target, label.via)?;
        policy.judge_address(&label.target, label.address)
    }

    /// Closes both connections and tells how it ended.
    pub(super) fn close(mut self, reason: Option<Denied>) {
        if reason.is_some_and(is_about_client_hello) {
            // Only if the client takes it without waiting.
            let _written = rustix::io::write(&self.ends[CLIENT], self.farewell);
        }
        let ended = Ended {
            sent: self.directions[CLIENT].moved,
            received: self.directions[SERVER].moved,
            lasted: self.began.elapsed(),
            reason,
        };
        let tell = self.ended.take();
        drop(self);
        if let Some(tell) = tell {
            tell(ended);
        }
    }
}

/// Returns true if a denial is about the ClientHello, not about what was carried.
fn is_about_client_hello(denied: Denied) -> bool {
    matches!(
        denied,
        Denied::SniMismatch | Denied::NoSni | Denied::NotTls | Denied::Literal | Denied::Name(_)
    )
}

/// Whether a tunnel goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Going {
    /// It does.
    On,
    /// Both directions are done.
    Over,
}
