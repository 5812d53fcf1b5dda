//! `Direction`: one direction of a tunnel.

use std::sync::atomic::AtomicU64;

use lazaret_egress::Denied;
use rustix::io::Errno;

use super::budget::Budget;
use super::filter::{OptionalFilter, Verdict};
use super::spec::End;

/// How often a direction that always has more is read before others have their turn.
const ROUNDS: usize = 4;

/// One direction of a tunnel.
pub(super) struct Direction {
    filter: OptionalFilter,
    /// What the reader has not taken yet, from `taken` on.
    pending: Vec<u8>,
    taken: usize,
    state: State,
    on_loss: OnLoss,
    /// Bytes that the reader has taken in all.
    pub(super) moved: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Bytes may come.
    Open,
    /// None will come or be read; what is pending is delivered, and the reader stays open.
    StoppedReading,
    /// None will come; what is pending is delivered, then the reader is told.
    Ending,
    /// The reader has gone: what still comes is read and dropped.
    Sink,
    /// Nothing is pending, and the reader knows that nothing comes.
    Ended,
}

/// What becomes of a direction whose reader has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnLoss {
    /// Its sender is read to its end: closing TCP over unread bytes resets it, and would
    /// take an answer away that is on its way (RFC 9112 section 9.6).
    Drain,
    /// It is over.
    End,
}

/// Whether the sender is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    /// It is, and readiness tells when it has more.
    There,
    /// It has gone: what it left behind has to be fetched without being told.
    Gone,
}

impl Direction {
    pub(super) fn new(filter: OptionalFilter, on_loss: OnLoss) -> Self {
        Self {
            filter,
            on_loss,
            pending: Vec::new(),
            taken: 0,
            state: State::Open,
            moved: 0,
        }
    }

    /// Whether its sender should be read.
    pub(super) fn wants_to_read(&self) -> bool {
        matches!(self.state, State::Open | State::Sink) && self.pending.is_empty()
    }

    /// Whether it waits for its reader.
    pub(super) fn wants_to_write(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Whether nothing will be carried any more.
    pub(super) fn is_over(&self) -> bool {
        self.pending.is_empty() && matches!(self.state, State::StoppedReading | State::Ended)
    }

    /// Whether it only waits for its sender to go.
    pub(super) fn is_drained(&self) -> bool {
        self.state == State::Sink
    }

    /// Gives up: the reader has gone.
    pub(super) fn abandon(&mut self) {
        self.pending = Vec::new();
        self.taken = 0;
        self.state = match (self.state, self.on_loss) {
            (State::Open | State::Sink, OnLoss::Drain) => State::Sink,
            _ => State::Ended,
        };
    }

    /// Takes bytes that were read elsewhere, and passes on what it may and can.
    pub(super) fn take(&mut self, bytes: &[u8], to: &End, left: &AtomicU64) -> Result<(), Denied> {
        if bytes.is_empty() || self.state == State::Sink {
            return Ok(());
        }
        Budget::take(left, bytes.len())?;
        let Some(filter) = self.filter.as_mut() else {
            self.put(bytes, to);
            return Ok(());
        };
        let mut output = Vec::new();
        match filter.pass(bytes, &mut output)? {
            Verdict::Continue => {}
            Verdict::PassThrough => self.filter = None,
            Verdict::StopReading => self.state = State::StoppedReading,
        }
        self.put(&output, to);
        Ok(())
    }

    /// Delivers what is pending, then reads and passes on until either side has to wait.
    pub(super) fn carry(
        &mut self,
        from: &End,
        to: &End,
        sender: Sender,
        scratch: &mut [u8],
        left: &AtomicU64,
    ) -> Result<(), Denied> {
        self.deliver(to);
        let mut rounds = 0;
        while self.wants_to_read() && (rounds < ROUNDS || sender == Sender::Gone) {
            rounds += 1;
            match rustix::io::read(from, &mut *scratch) {
                Ok(0) => self.state = State::Ending,
                Ok(count) => {
                    self.take(&scratch[..count], to, left)?;
                    if count < scratch.len() && sender == Sender::There {
                        break;
                    }
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                // Reset: nothing more comes, which is all that the other side can be told.
                Err(_) => self.state = State::Ending,
            }
        }
        self.end(to);
        Ok(())
    }

    fn put(&mut self, bytes: &[u8], to: &End) {
        let written = match self.pending.is_empty() {
            true => match write_some(to, bytes) {
                Ok(written) => written,
                Err(_) => return self.abandon(),
            },
            false => 0,
        };
        self.count(written);
        self.pending.extend_from_slice(&bytes[written..]);
    }

    fn deliver(&mut self, to: &End) {
        if self.pending.is_empty() {
            return;
        }
        match write_some(to, &self.pending[self.taken..]) {
            Ok(written) => {
                self.count(written);
                self.taken += written;
            }
            Err(_) => return self.abandon(),
        }
        if self.taken == self.pending.len() {
            // An idle tunnel keeps no buffer.
            self.pending = Vec::new();
            self.taken = 0;
        }
    }

    fn end(&mut self, to: &End) {
        if self.state == State::Ending && self.pending.is_empty() {
            // Harmless when the reader has gone.
            to.end_writing();
            self.state = State::Ended;
        }
    }

    fn count(&mut self, written: usize) {
        self.moved += u64::try_from(written).unwrap_or(u64::MAX);
    }
}

/// Writes as much as is taken without waiting.
fn write_some(to: &End, bytes: &[u8]) -> Result<usize, Errno> {
    let mut written = 0;
    while written < bytes.len() {
        match rustix::io::write(to, &bytes[written..]) {
            Ok(count) => written += count,
            Err(Errno::AGAIN) => break,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(written)
}
