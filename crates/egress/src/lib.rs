//! What a session may reach, and what the launcher and its gateway say to each other.
//!
//! Pure: no I/O, no clock, no resolver. The launcher reads rules and judges questions
//! with it (`lazaret policy check`), the gateway judges every connection with it, and
//! both get the same answer because it is the same code.
//!
//! A connection is judged twice. [`Policy::judge_name`] looks at what was asked for: one
//! canonical [`HostName`] and a port. [`Policy::judge_address`] looks at the address that
//! is about to be dialled, because who answers for an allowed name decides where it leads.
//! Neither is enough alone, and nothing may be resolved between the second and the dialling.

mod address;
mod config;
mod credential;
mod denied;
mod entry_point;
mod event;
mod host_name;
mod host_port;
mod known;
mod net;
mod policy;
mod preset;
mod rule;
mod scrub;
mod secret;
mod session_limits;

pub use address::AddressClass;
pub use config::{
    BrokerRoute, CERTIFICATES, ConfigUpdate, GatewayConfig, HEARTBEAT_INTERVAL, HEARTBEAT_TIMEOUT,
    Scheme,
};
pub use credential::is_credential;
pub use denied::Denied;
pub use entry_point::EntryPoint;
pub use event::{Event, Verdict};
pub use host_name::{HostName, NameError};
pub use host_port::{HostPort, HostPortError, Port, PortError};
pub use net::{Net, NetError};
pub use policy::{Allowed, Mode, Policy, PrivateReach};
pub use preset::{AllowEntry, AllowEntryError, Preset};
pub use rule::{Pattern, Rule, RuleError};
pub use scrub::{Patterns, SHORTEST_SECRET, Scrubber, TooShort};
pub use secret::Secret;
pub use session_limits::SessionLimits;
