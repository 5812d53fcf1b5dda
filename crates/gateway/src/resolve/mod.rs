//! Resolves names without the C library, which a static program can't ask.
//!
//! Every question goes from a socket and a port of its own, with an id of its own, and
//! only what the asked server answers to exactly that question counts (RFC 5452). A name
//! is absolute: there is no search list, no `/etc/hosts`, no multicast, no cache. The
//! answers are believed no further than that: the caller judges each address.

mod answer;
mod ask;
mod conf;

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use lazaret_egress::HostName;

pub use answer::{Answer, Question, Reading, read};
pub use conf::servers;

/// The record types of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// `A`.
    V4,
    /// `AAAA`.
    V6,
}

/// The longest wait for one server's answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often each server is asked.
const ROUNDS: usize = 2;

/// Asks resolvers.
#[derive(Debug, Clone)]
pub struct Resolver {
    servers: Vec<SocketAddr>,
}

impl Resolver {
    /// Asks these, in this order.
    pub fn new(servers: Vec<SocketAddr>) -> Self {
        Self { servers }
    }

    /// Returns the addresses of a name, IPv4 before IPv6; none when there are none, or
    /// when no server answered within `timeout`.
    pub fn addresses(&self, host: &HostName, timeout: Duration) -> Vec<IpAddr> {
        let deadline = Instant::now() + timeout;
        for _ in 0..ROUNDS {
            for server in &self.servers {
                let until = deadline.min(Instant::now() + PATIENCE);
                if Instant::now() >= deadline {
                    return Vec::new();
                }
                if let Some(addresses) = ask::both(*server, host, until) {
                    return addresses;
                }
            }
        }
        Vec::new()
    }
}
