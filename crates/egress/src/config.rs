//! The messages of the launcher to its gateway: one [`GatewayConfig`], then [`ConfigUpdate`]s,
//! each a JSON value on a line of the gateway's standard input.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{HostPort, Policy, Secret, SessionLimits};

/// The file with certificates, beside the gateway's sockets.
pub const CERTIFICATES: &str = "ca.pem";

/// How often the launcher writes a line to its gateway: an empty one if it has no update.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(5);

/// How long a gateway runs without a line from its launcher.
///
/// Six intervals: a launcher on a busy machine misses some, and the network of a killed
/// launcher stays open no longer than this. Suspending the machine stops the time of both.
pub const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(30);

/// The first line of a gateway's standard input.
///
/// It holds the keys, so it goes there and nowhere else: no argument, environment, label,
/// volume or log.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayConfig {
    /// What may be reached.
    pub policy: Policy,
    /// What the broker serves.
    pub routes: Vec<BrokerRoute>,
    /// Certificates (PEM) that the broker trusts instead of the built-in roots; empty for
    /// those.
    pub trust: Vec<String>,
    /// Certificates (PEM) that programs inside shall trust, for the file [`CERTIFICATES`]
    /// beside the sockets; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub inside: String,
    /// What the session may take.
    pub caps: SessionLimits,
}

/// Every further line of a gateway's standard input that is not empty. Its end ends the
/// gateway, and so does a [`HEARTBEAT_TIMEOUT`] without a line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ConfigUpdate {
    /// Replaces the policy. New connections are judged by it; tunnels that it would not
    /// allow any more are closed.
    Policy(Policy),
}

/// One host that the broker serves with a key that the workload never has.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrokerRoute {
    /// The name of the secret in the profile, for logs.
    pub name: String,
    /// Which socket: `broker-<index>.sock`, and port 8100 + index inside.
    pub index: u16,
    /// The host that the key belongs to.
    pub target: HostPort,
    /// The header that carries it, such as `x-api-key`.
    pub header: String,
    /// How the header carries it.
    pub scheme: Scheme,
    /// The key.
    pub secret: Secret,
    /// Fields of requests that go on to this vendor beside the usual ones, in lower case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass: Vec<String>,
}

impl BrokerRoute {
    /// Returns what the workload sees in the place of the key.
    pub fn placeholder(&self) -> String {
        Self::placeholder_of(&self.name)
    }

    /// Returns what the workload sees in the place of the key of this name.
    pub fn placeholder_of(name: &str) -> String {
        format!("lazaret-placeholder-{name}")
    }
}

/// How a header carries a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// The key alone.
    Raw,
    /// `Bearer ` before it (RFC 6750).
    Bearer,
}
