//! HTTP/1.1 as the gateway reads and writes it: one reader for the proxy and for the broker.
//!
//! Two readers of one message are how requests are smuggled (NET-13), so there is one of each
//! part here: [`RequestHead`] and [`ResponseHead`] over the same fields, [`Framing`] for where
//! a body ends, [`Body`] for its bytes. What two implementations could read differently is an
//! error, and what is sent on is written anew from what was read.
//!
//! The head of a response that only passes the proxy is not read here: nothing is decided by
//! it (`frontend::answer_filter`).

mod body;
mod fields;
mod framing;
mod head;
mod response;

pub use body::{BadBody, Body, Span, Trailers};
pub(crate) use body::{LAST_CHUNK, encode_chunk};
pub use fields::{Field, Fields};
pub use framing::{Framing, FramingError};
pub use head::{HeadError, Recipient, RequestHead, ResponseHead, Version, end_of_head};
pub(crate) use response::{Response, write_denial};
