//! `SniGuard`: a tunnel to one host carries no ClientHello for another (NET-11).

use lazaret_egress::{Denied, HostName};

use crate::client_hello::{self, ClientHello, HANDSHAKE};
use crate::pump::{Filter, Verdict};

/// Holds the first flight back until it is known to be for the host of the tunnel.
///
/// What is not TLS passes: only TLS has a second name that the far end would believe.
#[derive(Debug)]
pub(super) struct SniGuard {
    host: HostName,
    most: usize,
    seen: Vec<u8>,
}

impl SniGuard {
    /// Guards a tunnel to `host`; a ClientHello has at most `most` bytes.
    pub(super) fn new(host: HostName, most: usize) -> Self {
        Self {
            host,
            most,
            seen: Vec::new(),
        }
    }
}

impl Filter for SniGuard {
    fn pass(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<Verdict, Denied> {
        self.seen.extend_from_slice(input);
        if self.seen.first().is_some_and(|first| *first != HANDSHAKE) {
            output.append(&mut self.seen);
            return Ok(Verdict::PassThrough);
        }
        match client_hello::read(&self.seen)? {
            ClientHello::Incomplete if self.seen.len() >= self.most => Err(Denied::Head),
            ClientHello::Incomplete => Ok(Verdict::Continue),
            ClientHello::For(name) if name == self.host => {
                output.append(&mut self.seen);
                Ok(Verdict::PassThrough)
            }
            ClientHello::For(_) => Err(Denied::SniMismatch),
        }
    }
}
