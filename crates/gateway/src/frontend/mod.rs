//! The entry points for connections that become tunnels: the proxy, TLS by its server name,
//! HTTP by its `Host`.
//!
//! Each reads the beginning of a connection ([`preamble`]), finds its target in it, has the
//! [`Context`](crate::Context) judge and dial it, and hands both sides to the pump with the
//! filters that [`connection::TunnelMode`] asks for.

mod answer_filter;
mod connection;
pub(crate) mod host;
mod preamble;
pub(crate) mod proxy;
mod request_body;
pub(crate) mod sni;
mod sni_guard;
pub mod target;

pub(crate) use connection::ClientConnection;
