//! `Order` and `Change`: what the launcher tells its gateway, one JSON value a line.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Caps, HostPort, Policy, Secret};

/// The file with certificates, beside the gateway's sockets.
pub const CERTIFICATES: &str = "ca.pem";

/// How often a launcher says something to its gateway: an empty line, if nothing else.
pub const BEAT: Duration = Duration::from_secs(5);

/// How long a gateway that hears nothing goes on. Six beats: a launcher on a machine that
/// is short of everything misses some, and one that was killed leaves the network open for
/// no longer. While the machine of both is suspended no time passes for either.
pub const SILENCE: Duration = Duration::from_secs(30);

/// The first line of a gateway's standard input.
///
/// It holds the keys, so it goes there and nowhere else: no argument, environment, label,
/// volume or log.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// What may be reached.
    pub policy: Policy,
    /// What the broker serves.
    pub routes: Vec<Route>,
    /// Certificates (PEM) that the broker trusts instead of the built-in roots; empty for
    /// those.
    pub trust: Vec<String>,
    /// Certificates (PEM) that programs inside shall trust, for the file [`CERTIFICATES`]
    /// beside the sockets; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub inside: String,
    /// What the session may take.
    pub caps: Caps,
}

/// Every further line of a gateway's standard input that is not empty. Its end ends the
/// gateway, and so does a [`SILENCE`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// Replaces the policy. New connections are judged by it; tunnels that it would not
    /// allow any more are closed.
    Policy(Policy),
}

/// One host that the broker serves with a key that the workload never has.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
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

impl Route {
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
