//! TLS on the loopback's port 443, for clients that know no proxy: the name in the
//! greeting says where it goes. TLS itself is not ended here.

use std::io::Write as _;

use lazaret_egress::{Denied, HostPort, Port};

use crate::arrive::{self, Missing};
use crate::door::{Carries, Passage};
use crate::greeting::{self, Greeting, UNRECOGNIZED_NAME};

/// Serves one connection.
pub(crate) fn serve(passage: Passage<'_>, port: Port) {
    let mut host = None;
    let whole = |bytes: &[u8]| match greeting::read(bytes)? {
        Greeting::Incomplete => Ok(None),
        Greeting::For(name) => {
            host = Some(name);
            Ok(Some(bytes.len()))
        }
    };
    let read = arrive::beginning(passage.stream(), &passage.context.caps, whole);
    let (first, host) = match (read, host) {
        (Ok((first, _)), Some(host)) => (first, host),
        (Ok(_), None) | (Err(Missing::Silent), _) => return,
        (Err(Missing::Denied(denied)), _) => {
            // Ends in a greeting as in a request.
            let denied = match denied {
                Denied::BadRequest => Denied::NotTls,
                denied => denied,
            };
            let (via, id) = (passage.via, passage.client.id);
            passage.context.deny(String::new(), via, id, denied);
            return alert(&passage);
        }
    };
    let target = HostPort::new(host, port);
    match passage
        .context
        .dial(&target, passage.via, passage.client.id)
    {
        Ok(reached) => passage.hand_over(target, reached, first, Carries::Greeted),
        Err(_) => alert(&passage),
    }
}

/// Says in TLS what can be said there.
fn alert(passage: &Passage<'_>) {
    // It may not want to know.
    let _heard = passage.stream().write_all(&UNRECOGNIZED_NAME);
}
