//! `BodyReader`: the content of a body, piece by piece as it arrives.

use std::io::Read;
use std::time::Duration;

use super::source::{Source, SourceError, Timed};
use crate::http::{BadBody, Body, Framing, Span, Trailers};

/// The content of a body, without its framing.
#[derive(Debug)]
pub(super) struct BodyReader(Body);

/// Why a body can't be read on.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    #[error(transparent)]
    Body(#[from] BadBody),
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl BodyReader {
    pub(super) fn new(framing: Framing) -> Self {
        Self(Body::new(framing, Trailers::Discard))
    }

    /// Returns the next piece, never an empty one; `None` at the end of the body.
    ///
    /// # Errors
    ///
    /// The framing is wrong, the connection ends first, or nothing arrives for `idle`.
    pub(super) fn next<R: Read + Timed>(
        &mut self,
        from: &mut Source<R>,
        idle: Duration,
    ) -> Result<Option<Vec<u8>>, BodyError> {
        while !self.0.is_complete() {
            if !from.wait(idle)? {
                self.0.close()?;
                continue;
            }
            match self.0.read(from.buffered())? {
                Span::Framing(length) => from.skip(length),
                Span::Content(length) => return Ok(Some(from.take(length))),
            }
        }
        Ok(None)
    }

    /// Returns true once all of it has been read.
    pub(super) fn is_complete(&self) -> bool {
        self.0.is_complete()
    }
}
