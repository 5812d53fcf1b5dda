//! `SameName`: a tunnel for one host carries no TLS greeting for another (NET-11).

use lazaret_egress::{Denied, HostName};

use crate::greeting::{self, Greeting, HANDSHAKE};
use crate::pump::{Filter, Then};

/// Holds the first flight back until it is known to be for the host of the tunnel.
///
/// What is no TLS passes: only TLS has a second name that the far end would believe.
#[derive(Debug)]
pub(crate) struct SameName {
    host: HostName,
    most: usize,
    seen: Vec<u8>,
}

impl SameName {
    /// For a tunnel to `host`; a greeting has at most `most` bytes.
    pub(crate) fn new(host: HostName, most: usize) -> Self {
        Self {
            host,
            most,
            seen: Vec::new(),
        }
    }
}

impl Filter for SameName {
    fn pass(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<Then, Denied> {
        self.seen.extend_from_slice(input);
        if self.seen.first().is_some_and(|first| *first != HANDSHAKE) {
            output.append(&mut self.seen);
            return Ok(Then::Raw);
        }
        match greeting::read(&self.seen)? {
            Greeting::Incomplete if self.seen.len() >= self.most => Err(Denied::Head),
            Greeting::Incomplete => Ok(Then::Filter),
            Greeting::For(name) if name == self.host => {
                output.append(&mut self.seen);
                Ok(Then::Raw)
            }
            Greeting::For(_) => Err(Denied::SniMismatch),
        }
    }
}
