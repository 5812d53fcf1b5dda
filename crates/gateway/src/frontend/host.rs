//! HTTP on the loopback's port 80, for clients that know no proxy: `Host` says where it
//! goes.

use lazaret_egress::Port;

use super::connection::ClientConnection;
use super::{proxy, target};

/// Serves one connection.
pub(crate) fn serve(connection: ClientConnection<'_>, port: Port) {
    let Some((head, rest)) = connection.read_head() else {
        return;
    };
    match target::of_origin(&head, port) {
        Ok(target) => proxy::forward(connection, target, head, rest),
        Err(rejected) => connection.reject(rejected),
    }
}
