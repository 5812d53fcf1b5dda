//! HTTP on the loopback's port 80, for clients that know no proxy: `Host` says where it
//! goes.

use lazaret_egress::Port;

use crate::door::Passage;
use crate::{proxy, target};

/// Serves one connection.
pub(crate) fn serve(passage: Passage<'_>, port: Port) {
    let Some((head, rest)) = passage.head() else {
        return;
    };
    match target::of_origin(&head, port) {
        Ok(target) => proxy::forward(passage, target, head, rest),
        Err(lost) => passage.refuse(lost),
    }
}
