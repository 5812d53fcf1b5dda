//! The one way out of a session.
//!
//! Two programs of the porter are made of this crate. The *gateway* runs in a container of
//! its own, the only one of a session with a route: it judges every connection by its
//! [`Policy`](lazaret_egress::Policy), dials what is allowed, and passes bytes on. The
//! *relay* runs beside the command, whose container has nothing but a loopback: it carries
//! connections to loopback ports over to the gateway's unix sockets and decides nothing.
//!
//! | socket | what comes there | module |
//! |---|---|---|
//! | `proxy.sock` | `CONNECT`, and absolute `http:` addresses | `frontend::proxy` |
//! | `tls.sock` | TLS by the server name in its ClientHello, never terminated here | `frontend::sni` |
//! | `http.sock` | HTTP by its `Host` | `frontend::host` |
//! | `broker-<n>.sock` | HTTP for one host, with the user's key | `broker` |
//!
//! **Invariant:** the decision about a connection is written and flushed before its first
//! byte is passed on; what can't be reported isn't done.
//!
//! **Invariant:** an address is judged right before it is dialled, and nothing is resolved
//! between the two.
//!
//! **Residual, by nature of passing TLS on unopened:** a host that serves many names
//! behind one (a content network) may be asked for another inside (NET-12), and with
//! Encrypted Client Hello only the provider's public name is seen (NET-11). What an
//! allowed host is told is not looked at.

pub mod broker;
pub mod client_hello;
mod context;
mod dial;
mod event_log;
mod frontend;
mod heartbeat;
pub mod http;
mod listen;
mod local_networks;
pub mod pump;
mod relay;
pub mod resolve;
mod run;

pub use context::{Client, Context, Reached};
pub use dial::dial;
pub use event_log::EventLog;
pub use frontend::target;
pub use heartbeat::InputError;
pub use local_networks::local_networks;
pub use relay::{Relay, RelayError, RelayRoute};
pub use run::{GatewayError, Setup, run};
