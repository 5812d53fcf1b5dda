//! `Blobs`: where contents come from, by digest.

use std::io;

use crate::Digest;

/// Contents by digest: the quarantine, or what an apply kept for its undo.
pub trait Blobs {
    /// Opens the contents with this digest for reading, from the start.
    ///
    /// This does not verify the contents: a caller that relies on them hashes what it
    /// reads.
    ///
    /// # Errors
    /// When there are none (`NotFound`), or they can't be opened.
    fn open(&self, digest: &Digest) -> io::Result<Box<dyn io::Read + '_>>;
}
