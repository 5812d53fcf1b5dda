//! `EntryPoint`: the socket of the gateway that took a connection.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The socket of the gateway that took a connection, and how its target was named there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryPoint {
    /// `CONNECT` at the proxy.
    Connect,
    /// An absolute `http:` address at the proxy.
    Http,
    /// TLS on the loopback's port 443, by the server name in its ClientHello.
    Sni,
    /// HTTP on the loopback's port 80, by its `Host`.
    Host,
    /// A port of the broker, the only entry point to brokered hosts.
    Broker,
}

impl fmt::Display for EntryPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connect",
            Self::Http => "http",
            Self::Sni => "sni",
            Self::Host => "host",
            Self::Broker => "broker",
        })
    }
}
