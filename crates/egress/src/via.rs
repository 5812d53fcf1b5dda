//! `Via`: the door by which a connection came.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The door by which a connection came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// `CONNECT` at the proxy.
    Connect,
    /// An absolute `http:` address at the proxy.
    Http,
    /// TLS on the loopback's port 443, by the name in its greeting.
    Sni,
    /// HTTP on the loopback's port 80, by its `Host`.
    Host,
    /// A port of the broker. Of the doors only this one leads to brokered hosts.
    Broker,
}

impl fmt::Display for Via {
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
