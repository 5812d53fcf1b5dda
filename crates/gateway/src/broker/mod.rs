//! The broker: serves a host with a key that the workload never has.
//!
//! A request is read strictly, stripped of every field that may carry a credential of the
//! workload's own, given the key, and sent to the one host that the key belongs to, over TLS that is always verified. The
//! answer comes back as it comes in, piece by piece; where the vendor's answer holds the key
//! it is scrubbed (NET-20).
//!
//! One request at a time for each connection of the workload's, and a connection of its own
//! to the vendor for each request: none can be confused with another, and each is judged
//! and logged by itself.

mod answer;
mod body;
mod exchange;
mod fields;
mod forward;
mod framing;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod head;
mod query;
mod source;
mod tls;

use std::sync::Arc;

use lazaret_egress::{Patterns, Route, TooShort};
use rustls::ClientConfig;

pub use tls::TrustError;

use crate::{Client, Context};

/// One route of the broker.
pub struct Broker {
    route: Route,
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
    /// See there.
    #[error(transparent)]
    Secret(#[from] TooShort),
    /// See there.
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
    pub fn new(route: Route, trust: &[String]) -> Result<Self, BrokerError> {
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
