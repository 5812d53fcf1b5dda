//! The gateway with real sockets, a resolver and upstreams of its own.
//!
//! Everything is on the loopback, at ports that the kernel chose, and every wait is for
//! something that has to happen, with a deadline far beyond a slow machine.

mod broker;
mod caps;
mod dns;
mod http;
mod names;
mod pumping;
mod relaying;
mod silence;
mod tls;
mod world;
