//! `Unacknowledged`: what one side of a resumable seat has sent, until the other side has it.

use std::collections::VecDeque;

/// So many bytes may arrive before RECEIVED is due.
const DUE: u64 = 64 << 10;

/// A count of bytes that were never sent, or are no longer kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the other side has received {count} bytes, of {first} to {end}")]
pub struct CountError {
    /// What the other side says.
    pub count: u64,
    /// What it has said before.
    pub first: u64,
    /// All that there is.
    pub end: u64,
}

/// Bytes of frames, in the order in which they are sent.
#[derive(Debug, Default)]
pub struct Unacknowledged {
    bytes: VecDeque<u8>,
    /// How many bytes came before them.
    first: u64,
    /// How many of them are sent over this connection.
    sent: usize,
}

impl Unacknowledged {
    /// Appends frames.
    pub fn push(&mut self, frames: &[u8]) {
        self.bytes.extend(frames);
    }

    /// Returns how many bytes are kept.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether the other side has everything.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns some of what this connection has not been given; empty if that is nothing.
    pub fn unsent(&self) -> &[u8] {
        let (front, back) = self.bytes.as_slices();
        match front.get(self.sent..) {
            Some(rest) if !rest.is_empty() => rest,
            _ => back.get(self.sent - front.len()..).unwrap_or_default(),
        }
    }

    /// Notes that this connection was given so many bytes more.
    pub fn mark_sent(&mut self, bytes: usize) {
        self.sent = self.bytes.len().min(self.sent + bytes);
    }

    /// Forgets what this connection was given: a connection that is never resumed.
    pub fn forget_sent(&mut self) {
        self.first += self.sent as u64;
        self.bytes.drain(..self.sent);
        self.sent = 0;
    }

    /// Forgets what the other side has: `count` bytes since the first one. A count that it has
    /// said before may come again.
    ///
    /// # Errors
    /// When so many were never sent.
    pub fn acknowledge(&mut self, count: u64) -> Result<(), CountError> {
        let sent = self.first + self.sent as u64;
        if count > sent {
            return Err(self.no_count(count));
        }
        let had = count.saturating_sub(self.first);
        let had = usize::try_from(had).unwrap_or(usize::MAX);
        self.bytes.drain(..had);
        self.first += had as u64;
        self.sent -= had;
        Ok(())
    }

    /// Begins with another connection: all that the other side has not received is sent again.
    ///
    /// # Errors
    /// When it has received what never was, or says that it lacks what it has said to have.
    pub fn resume(&mut self, received: u64) -> Result<(), CountError> {
        let end = self.first + self.bytes.len() as u64;
        if !(self.first..=end).contains(&received) {
            return Err(self.no_count(received));
        }
        self.sent = self.bytes.len();
        self.acknowledge(received)?;
        self.sent = 0;
        Ok(())
    }

    fn no_count(&self, count: u64) -> CountError {
        CountError {
            count,
            first: self.first,
            end: self.first + self.bytes.len() as u64,
        }
    }
}

/// Counts what has arrived.
#[derive(Debug, Default)]
pub struct Arrived {
    count: u64,
    told: u64,
}

impl Arrived {
    /// Adds the bytes of a whole frame.
    pub fn add(&mut self, bytes: usize) {
        self.count += bytes as u64;
    }

    /// Returns what the other side is to be told now, if that is worth a frame.
    pub fn due(&mut self) -> Option<u64> {
        (self.count - self.told >= DUE).then(|| self.tell())
    }

    /// Returns what the other side is to be told.
    pub fn tell(&mut self) -> u64 {
        self.told = self.count;
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_unsent(kept: &mut Unacknowledged) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let piece = kept.unsent().to_vec();
            if piece.is_empty() {
                return all;
            }
            kept.mark_sent(piece.len());
            all.extend(piece);
        }
    }

    #[test]
    fn what_was_not_acknowledged_is_sent_again_from_any_count() {
        let bytes: Vec<u8> = (0..100).collect();
        for sent in 0..=100 {
            for acknowledged in 0..=sent {
                for received in acknowledged..=100 {
                    let mut kept = Unacknowledged::default();
                    kept.push(&bytes);
                    kept.mark_sent(sent);
                    kept.acknowledge(acknowledged as u64).expect("it was sent");
                    kept.resume(received as u64).expect("it is kept");
                    assert_eq!(all_unsent(&mut kept), bytes[received..]);
                    assert_eq!(kept.len(), 100 - received);
                }
            }
        }
    }

    #[test]
    fn a_count_of_what_never_was_is_refused() {
        let mut kept = Unacknowledged::default();
        kept.push(&[0; 10]);
        kept.mark_sent(4);
        kept.acknowledge(5).expect_err("five were not sent");
        kept.acknowledge(4).expect("four were");
        kept.acknowledge(2).expect("an old count says nothing new");
        kept.resume(3).expect_err("it had four");
        kept.resume(11).expect_err("there are ten");
        assert_eq!(kept.len(), 6, "a refused count changes nothing");
        kept.resume(10).expect("it may have arrived without a word");
        assert!(kept.is_empty());
    }

    #[test]
    fn what_is_never_resumed_is_not_kept() {
        let mut kept = Unacknowledged::default();
        kept.push(b"abc");
        kept.mark_sent(2);
        kept.forget_sent();
        assert_eq!(kept.unsent(), b"c");
    }

    #[test]
    fn a_count_is_due_by_the_bytes() {
        let mut arrived = Arrived::default();
        arrived.add(65_535);
        assert_eq!(arrived.due(), None);
        arrived.add(1);
        assert_eq!((arrived.due(), arrived.due()), (Some(65_536), None));
        arrived.add(13);
        assert_eq!(arrived.tell(), 65_549);
    }
}
