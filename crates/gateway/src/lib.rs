//! The one way out of a session.
//!
//! Two programs of the porter are made of this crate. The *gateway* runs in a container of
//! its own, the only one of a session with a route: it judges every connection by its
//! [`Policy`](lazaret_egress::Policy), dials what is allowed, and passes bytes on. The
//! *relay* runs beside the command, whose container has nothing but a loopback: it carries
//! connections to loopback ports over to the gateway's unix sockets and decides nothing.

pub mod broker;
mod context;
mod journal;

pub use context::{Client, Context};
pub use journal::Journal;
