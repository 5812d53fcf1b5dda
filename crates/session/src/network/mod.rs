//! The network of a session: a gateway beside the command's container, and the only way out.
//!
//! The command's container has no network. A private volume that it can only read holds the
//! gateway's sockets; `porter relay` inside leads ports of the loopback there. The gateway's
//! container is the only one with a route, and judges every connection by the order that it
//! gets on its standard input. When that ends, however it ends, everything is closed.

mod channel;
mod decision_log;
mod denials;
mod gateway;
mod live_policy;
mod plan;
mod port_forward;

pub use decision_log::{JOURNAL, JournalEnd, Totals};
pub use denials::{Denial, OnDenied};
pub use gateway::{Gateway, GatewayError, NetworkEnd};
pub use live_policy::{Edited, HandOn, LivePolicy, PolicyEdit, RuleEffect};
pub use plan::{FIRST_BROKER, Plan, SOCKETS, aliases};
pub use port_forward::{BindError, PortBinding, PortForwarder, PortSpec, bind};
