//! `Ticket`: what lets a host, and no process inside, bring a seat other streams.

use std::fmt;

/// Bytes of a ticket.
pub const TICKET_BYTES: usize = NAME_BYTES + SECRET_BYTES;

const NAME_BYTES: usize = 16;
const SECRET_BYTES: usize = 32;

/// Where a seat is found, and what it wants to be told there. Both are random.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    name: [u8; NAME_BYTES],
    secret: [u8; SECRET_BYTES],
}

impl Ticket {
    /// Returns a ticket of bytes that no process inside can know.
    pub fn new(name: [u8; NAME_BYTES], secret: [u8; SECRET_BYTES]) -> Self {
        Self { name, secret }
    }

    /// Reads one; `None` if it has another length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (name, secret) = bytes.split_first_chunk()?;
        let secret = secret.try_into().ok()?;
        Some(Self {
            name: *name,
            secret,
        })
    }

    /// Returns name and secret.
    pub fn to_bytes(&self) -> [u8; TICKET_BYTES] {
        let mut bytes = [0; TICKET_BYTES];
        let (name, secret) = bytes.split_at_mut(NAME_BYTES);
        name.copy_from_slice(&self.name);
        secret.copy_from_slice(&self.secret);
        bytes
    }

    /// Returns the name of the seat's socket, which `/proc/net/unix` shows to every process.
    pub fn socket_name(&self) -> Vec<u8> {
        let digits = self.name.iter().map(|byte| format!("{byte:02x}"));
        ["lazaret-seat-".to_owned()]
            .into_iter()
            .chain(digits)
            .collect::<String>()
            .into_bytes()
    }

    /// Whether it has the same secret. The time that takes says nothing of where they differ.
    pub fn has_secret_of(&self, other: &Self) -> bool {
        let pairs = self.secret.iter().zip(&other.secret);
        pairs.fold(0, |found, (one, two)| found | (one ^ two)) == 0
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").finish_non_exhaustive()
    }
}

/// What a host says to `porter rejoin`, and that to the seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RejoinRequest {
    /// That of the seat's KEEP.
    pub ticket: Ticket,
    /// So many bytes of the seat's frames have arrived at the host.
    pub received: u64,
}

impl RejoinRequest {
    /// Its bytes: the ticket, then the count, big-endian.
    pub const BYTES: usize = TICKET_BYTES + size_of::<u64>();

    /// Returns its bytes.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let (ticket, received) = bytes.split_at_mut(TICKET_BYTES);
        ticket.copy_from_slice(&self.ticket.to_bytes());
        received.copy_from_slice(&self.received.to_be_bytes());
        bytes
    }

    /// Reads one; `None` if it has another length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (ticket, received) = bytes.split_at_checked(TICKET_BYTES)?;
        Some(Self {
            ticket: Ticket::from_bytes(ticket)?,
            received: u64::from_be_bytes(received.try_into().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_written() {
        let request = RejoinRequest {
            ticket: Ticket::new([0xa7; 16], [9; 32]),
            received: 1 << 33,
        };
        let bytes = request.to_bytes();
        assert_eq!(RejoinRequest::from_bytes(&bytes), Some(request));
        for length in 0..bytes.len() {
            assert_eq!(RejoinRequest::from_bytes(&bytes[..length]), None);
        }
        assert_eq!(
            RejoinRequest::from_bytes(&[bytes.as_slice(), &[0]].concat()),
            None
        );
    }

    #[test]
    fn only_the_same_secret_is_the_same_and_none_is_printed() {
        let ticket = Ticket::new([1; 16], [0x5a; 32]);
        assert!(ticket.has_secret_of(&Ticket::new([2; 16], [0x5a; 32])));
        for place in 0..32 {
            let mut secret = [0x5a; 32];
            secret[place] ^= 1;
            assert!(!ticket.has_secret_of(&Ticket::new([1; 16], secret)));
        }
        assert_eq!(format!("{ticket:?}"), "Ticket { .. }");
        let name = format!("lazaret-seat-{}", "01".repeat(16));
        assert_eq!(ticket.socket_name(), name.into_bytes());
    }
}
