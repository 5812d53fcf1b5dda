//! The network of a session: what is reached, what is not, and that it closes.
//!
//! Upstreams are servers of the scenario's own on this machine, at an address that is found
//! when it runs; the scenario's own `network.toml` makes it reachable.

mod reach;
mod upstream;

use super::Scenario;
pub(super) use upstream::{NAME, Upstream};

pub(crate) const SCENARIOS: &[Scenario] = reach::SCENARIOS;
