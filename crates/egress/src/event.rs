//! `Event`: what a gateway tells its launcher, one JSON value a line.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{Denied, EntryPoint};

/// What a gateway tells its launcher, one JSON value a line.
///
/// Every text of the workload's in it is escaped and short. `at` is milliseconds since
/// 1970 by the gateway's clock; `id` is the connection's, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Every socket listens. The first line.
    Ready {
        /// When.
        at: u64,
        /// The names of the sockets.
        sockets: Vec<String>,
    },
    /// A connection was judged. Written before its first byte is passed on.
    Decision {
        /// When.
        at: u64,
        /// The connection.
        id: u64,
        /// By which door it came.
        via: EntryPoint,
        /// What it asked for: canonical when it could be read, escaped otherwise; empty
        /// when it did not come to that.
        host: String,
        /// The port, when it came to that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<u16>,
        /// What was decided.
        verdict: Verdict,
        /// The rule that allowed it, or that denied it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// Why it was denied.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Denied>,
        /// The address that was dialled, or that was denied.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<IpAddr>,
    },
    /// A tunnel ended.
    Closed {
        /// When.
        at: u64,
        /// The connection.
        id: u64,
        /// Bytes that the workload sent.
        sent: u64,
        /// Bytes that it received.
        received: u64,
        /// How long it was open, in milliseconds.
        duration_ms: u64,
        /// The cap or judgement that ended it, when it was not an end of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Denied>,
    },
    /// The broker answered a request.
    Broker {
        /// When.
        at: u64,
        /// The connection.
        id: u64,
        /// The route's name.
        route: String,
        /// The method.
        method: String,
        /// The path without its query, escaped and cut.
        path: String,
        /// The status that came back; 0 when none did.
        status: u16,
        /// Bytes of the body that came back.
        received: u64,
    },
    /// Something of the gateway's own did not work.
    Fault {
        /// When.
        at: u64,
        /// What, for people.
        message: String,
    },
}

/// What was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The connection is made.
    Allowed,
    /// It is not.
    Denied,
}
