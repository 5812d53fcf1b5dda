//! `Caps`: what a session may take of the gateway (NET-14).

use serde::{Deserialize, Serialize};

/// What a session may take of the gateway.
///
/// One workload uses one gateway, so a cap hit harms nobody but the workload itself; they
/// bound memory, descriptors, and how much can leave unnoticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Caps {
    /// Connections at once, in all doors together. Each takes two descriptors.
    pub connections: u32,
    /// Connections at once that are not yet tunnels, for each door: being read, resolved or
    /// dialled, or served by the broker. Each is a thread.
    pub threads: u32,
    /// Bytes of a request's head or of a TLS greeting.
    pub head_bytes: u32,
    /// Milliseconds in which a head or a greeting has to arrive as a whole.
    pub head_ms: u64,
    /// Milliseconds for resolving a name, and for connecting to one address.
    pub connect_ms: u64,
    /// Milliseconds in which a tunnel has to move a byte in either direction.
    pub idle_ms: u64,
    /// Bytes that a session may send in all.
    pub sent_bytes: u64,
    /// Bytes that a session may receive in all.
    pub received_bytes: u64,
}

/// The caps that a profile which says nothing gets.
impl Default for Caps {
    fn default() -> Self {
        Self {
            connections: 1024,
            threads: 64,
            head_bytes: 64 * 1024,
            head_ms: 15_000,
            connect_ms: 10_000,
            idle_ms: 15 * 60 * 1000,
            sent_bytes: 8 << 30,
            received_bytes: 256 << 30,
        }
    }
}
