//! `Denied`: why a connection is not made.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::NameError;

/// Why a connection is not made.
///
/// [`Denied::code`] is stable: it is what logs hold and what tests and users look for. The
/// text is one sentence without the name that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Denied {
    /// No rule names the host (NET-03).
    #[error("no rule allows this host")]
    NotListed,
    /// A rule names the host with other ports (NET-04).
    #[error("this host is allowed, but not this port")]
    Port,
    /// A rule denies it, whatever else allows it.
    #[error("a rule denies this host and port")]
    Rule,
    /// An address instead of a name, in any spelling (NET-05).
    #[error("addresses are not allowed, only names")]
    Literal,
    /// The name is none (NET-10).
    #[error("{0}")]
    Name(NameError),
    /// The port is none.
    #[error("the port is none")]
    BadPort,
    /// The name leads to a private network (NET-06).
    #[error("the name leads to a private network that the user's network.toml does not name")]
    Private,
    /// The name leads to the gateway itself (NET-06).
    #[error("the name leads to a loopback address")]
    Loopback,
    /// The name leads to this link (NET-06).
    #[error("the name leads to a link-local address")]
    LinkLocal,
    /// A metadata service, by name or address (NET-08).
    #[error("metadata services are never reached")]
    Metadata,
    /// The machine that the engine runs on, or its network, by name or address (NET-09).
    #[error(
        "the machine of the container engine is not reached unless the user's network.toml names it"
    )]
    Engine,
    /// The name leads to an address that is none of one public host (NET-06).
    #[error("the name leads to a reserved address")]
    Reserved,
    /// The broker serves this host, with the user's key; a direct connection would carry
    /// the workload's own (NET-18).
    #[error("this host is reached through the broker only; use the base URL in the environment")]
    Brokered,
    /// The name in the TLS greeting is another than the one asked for (NET-11).
    #[error("the TLS greeting names another host than the one asked for")]
    SniMismatch,
    /// The TLS greeting names no host (NET-11).
    #[error("the TLS greeting names no host")]
    NoSni,
    /// What came is no TLS greeting.
    #[error("what came is no TLS greeting")]
    NotTls,
    /// What came is no request that everybody reads alike (NET-13).
    #[error("what came is no strict HTTP/1.1 request")]
    BadRequest,
    /// The query of a request holds a credential of the workload's own (NET-26).
    #[error("the query of the request holds a credential of the workload's own")]
    Credential,
    /// The head or greeting is above its cap in bytes or time (NET-14).
    #[error("the head of the request is too long or took too long")]
    Head,
    /// Too many connections at once (NET-14).
    #[error("too many connections at once")]
    Connections,
    /// The session has moved the bytes that it may (NET-14).
    #[error("the session has moved as many bytes as it may")]
    Bytes,
    /// Nothing moved for too long (NET-14).
    #[error("nothing moved for too long")]
    Idle,
    /// No resolver had an address.
    #[error("the name has no address")]
    Unresolved,
    /// No address answered.
    #[error("no address of the name could be connected to")]
    Unreachable,
}

/// Every code with what it stands for, for those that read logs.
const CODES: [(&str, Denied); 30] = [
    ("net.rule", Denied::Rule),
    ("net.not_listed", Denied::NotListed),
    ("net.port", Denied::Port),
    ("net.literal", Denied::Literal),
    ("net.bad_port", Denied::BadPort),
    ("net.private", Denied::Private),
    ("net.loopback", Denied::Loopback),
    ("net.link_local", Denied::LinkLocal),
    ("net.metadata", Denied::Metadata),
    ("net.engine", Denied::Engine),
    ("net.reserved", Denied::Reserved),
    ("net.brokered", Denied::Brokered),
    ("net.sni_mismatch", Denied::SniMismatch),
    ("net.no_sni", Denied::NoSni),
    ("net.not_tls", Denied::NotTls),
    ("net.bad_request", Denied::BadRequest),
    ("net.credential", Denied::Credential),
    ("net.head", Denied::Head),
    ("net.connections", Denied::Connections),
    ("net.bytes", Denied::Bytes),
    ("net.idle", Denied::Idle),
    ("net.unresolved", Denied::Unresolved),
    ("net.unreachable", Denied::Unreachable),
    ("net.name.empty", Denied::Name(NameError::Empty)),
    ("net.name.control", Denied::Name(NameError::Control)),
    ("net.name.userinfo", Denied::Name(NameError::Userinfo)),
    ("net.name.escape", Denied::Name(NameError::Escape)),
    ("net.name.literal", Denied::Name(NameError::Literal)),
    ("net.name.character", Denied::Name(NameError::Character)),
    ("net.name.length", Denied::Name(NameError::Length)),
];

impl Denied {
    /// Returns the stable code, such as `net.not_listed`.
    pub fn code(self) -> &'static str {
        CODES
            .iter()
            .find(|(_, denied)| *denied == self)
            .map_or("net.unknown", |(code, _)| code)
    }

    /// Returns what a code stands for.
    pub fn from_code(code: &str) -> Option<Self> {
        CODES
            .iter()
            .find(|(known, _)| *known == code)
            .map(|(_, denied)| *denied)
    }
}

impl From<NameError> for Denied {
    fn from(error: NameError) -> Self {
        match error {
            NameError::Literal => Self::Literal,
            error => Self::Name(error),
        }
    }
}

impl Serialize for Denied {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for Denied {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = String::deserialize(deserializer)?;
        Self::from_code(&code)
            .ok_or_else(|| serde::de::Error::custom("no code of a denied connection"))
    }
}
