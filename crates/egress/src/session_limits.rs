//! `SessionLimits`: how much of the gateway one session may use (NET-14).

use serde::{Deserialize, Serialize};

/// How much of the gateway one session may use.
///
/// One workload uses one gateway, so a workload that reaches a limit harms only itself. The
/// limits bound memory, descriptors, and how much data can leave the session unnoticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionLimits {
    /// Connections at once, over all entry points. Each takes two descriptors.
    pub connections: u32,
    /// Connections at once that are not yet tunnels, for each entry point: being read, resolved
    /// or dialled, or served by the broker. Each is a thread.
    pub threads: u32,
    /// Bytes of a request's head or of a ClientHello.
    pub head_bytes: u32,
    /// Milliseconds in which a head or a ClientHello has to arrive as a whole.
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

/// Returns the limits of a profile that sets none.
impl Default for SessionLimits {
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
