//! `Filter`: what inspects the bytes of a tunnel while they pass.

use lazaret_egress::Denied;

/// Inspects the bytes of one direction before they are passed on.
pub trait Filter: Send {
    /// Consumes all of `input` and appends to `output` what may be passed on.
    ///
    /// # Errors
    ///
    /// The tunnel is closed, and nothing of this `input` is passed on.
    fn pass(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<Verdict, Denied>;
}

/// What happens to the bytes after those that a filter has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The filter sees them as well.
    Continue,
    /// They are passed on as they are.
    PassThrough,
    /// They are not read: this direction has had all that it may have.
    StopReading,
}

/// A filter, or none.
pub type OptionalFilter = Option<Box<dyn Filter>>;
