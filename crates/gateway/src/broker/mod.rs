//! The broker: serves a host with a key that the workload never has.
//!
//! The broker reads a request strictly, removes every field that may carry a credential of the
//! workload's own, adds the key, and sends it to the one host that the key belongs to, over TLS
//! that is always verified. It passes the answer back piece by piece as it arrives, and scrubs
//! the key from it (NET-20).
//!
//! Each connection of the workload's carries one request at a time, and each request gets a
//! connection of its own to the vendor: none can be confused with another, and each is judged
//! and logged by itself.

mod body_reader;
mod exchange;
mod fields;
mod forward;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod query;
mod source;
mod tls;

use std::sync::Arc;

use lazaret_egress::{BrokerRoute, Patterns, TooShort};
use rustls::ClientConfig;

pub use tls::TrustError;

use crate::{Client, Context};

/// One route of the broker.
pub struct Broker {
    route: BrokerRoute,
    tls: Arc<ClientConfig>,
    patterns: Patterns,
}

/// Shows no key.
impl std::fmt::Debug for Broker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Broker")
            .field("route", &self.route.name)
            .finish_non_exhaustive()
    }
}

/// Why a route can't be served.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// The key is too short to be scrubbed.
    #[error(transparent)]
    Secret(#[from] TooShort),
    /// No connection can be verified.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The header or the key can't stand in a request.
    #[error("the header of the route {0}, or its key, holds what no header can hold")]
    Header(String),
}

impl Broker {
    /// Prepares a route. `trust` holds certificates (PEM); none stands for the usual
    /// authorities.
    ///
    /// # Errors
    /// The key is too short to be scrubbed or can't stand in a header, or there is nothing
    /// to verify a connection by.
    pub fn new(route: BrokerRoute, trust: &[String]) -> Result<Self, BrokerError> {
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_name = !route.header.is_empty() && route.header.bytes().all(is_token);
        let value = route.secret.expose();
        if !is_name
            || !value
                .bytes()
                .all(|byte| byte.is_ascii_graphic() || byte == b' ')
        {
            return Err(BrokerError::Header(route.name));
        }
        Ok(Self {
            patterns: Patterns::new([(route.name.as_str(), value.as_bytes())])?,
            tls: tls::config(trust)?,
            route,
        })
    }

    /// Serves one connection of the workload's, until either side ends it.
    pub fn serve(&self, client: Client, context: &Context) {
        exchange::serve(self, client, context);
    }
}
