//! `Blobs`: where contents come from, by digest.

use std::io;

use crate::Digest;

/// Contents by digest: the quarantine, or what an apply kept for its undo.
pub trait Blobs {
    /// Opens the contents with this digest for reading, from the start.
    ///
    /// Readers are not trusted: whoever needs the contents to be right hashes
    /// what comes out.
    ///
    /// # Errors
    /// When there are none (`NotFound`), or they can't be opened.
    fn open(&self, digest: &Digest) -> io::Result<Box<dyn io::Read + '_>>;
}
