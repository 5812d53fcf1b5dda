//! The gateway with real sockets, a resolver and upstreams of its own.
