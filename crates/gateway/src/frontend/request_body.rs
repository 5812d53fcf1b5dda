//! `RequestBody`: lets the body of one request pass and nothing after it (NET-13).

use lazaret_egress::Denied;

use crate::http::{BadBody, Body, Framing, Trailers};
use crate::pump::{Filter, Verdict};

/// Lets the body of one request pass and nothing after it.
///
/// A second request behind it, smuggled or not, is never read: it would go to the same server
/// without having been judged.
#[derive(Debug)]
pub(super) struct RequestBody(Body);

impl RequestBody {
    pub(super) fn new(framing: Framing) -> Self {
        Self(Body::new(framing, Trailers::Refuse))
    }
}

impl Filter for RequestBody {
    fn pass(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<Verdict, Denied> {
        let advanced = self.0.advance(input);
        let used = advanced.map_err(|_: BadBody| Denied::BadRequest)?;
        output.extend_from_slice(&input[..used]);
        Ok(match self.0.is_complete() {
            true => Verdict::StopReading,
            false => Verdict::Continue,
        })
    }
}
