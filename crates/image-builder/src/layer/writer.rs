//! `LayerWriter`: a layer with nothing in it that differs between two builds.

use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// 2025-01-01T00:00:00Z, in seconds. Times of files are never later than this, and
/// what we make ourselves has exactly this time.
pub(crate) const EPOCH: u64 = 1_735_689_600;

/// [`EPOCH`] as the image's configuration writes it.
pub(crate) const EPOCH_TEXT: &str = "2025-01-01T00:00:00Z";

/// Who owns an entry and what may be done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// Permission bits, without set-id bits: no program in an image gains anything (I1).
    pub(crate) mode: u32,
    /// The owner.
    pub(crate) uid: u64,
    /// The group.
    pub(crate) gid: u64,
    /// Seconds since 1970; clamped to [`EPOCH`].
    pub(crate) mtime: u64,
}

impl Attributes {
    /// Something of root's.
    pub(crate) const fn root(mode: u32) -> Self {
        Self {
            mode,
            uid: 0,
            gid: 0,
            mtime: EPOCH,
        }
    }

    /// Something of the agent's.
    pub(crate) const fn agent(mode: u32) -> Self {
        Self {
            mode,
            uid: 1000,
            gid: 1000,
            mtime: EPOCH,
        }
    }

    fn header(self, kind: tar::EntryType) -> tar::Header {
        const SET_ID_BITS: u32 = 0o6000;
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(self.mode & 0o7777 & !SET_ID_BITS);
        header.set_uid(self.uid);
        header.set_gid(self.gid);
        header.set_mtime(self.mtime.min(EPOCH));
        header.set_size(0);
        header
    }
}

/// What a layer's bytes hash to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LayerDigest {
    /// SHA-256 of the uncompressed tar, in hexadecimal: the `diff_id`.
    pub(crate) hex: String,
    /// Bytes.
    pub(crate) size: u64,
}

/// Writes a layer. The caller gives the entries in order, parents first.
pub(crate) struct LayerWriter<W: Write> {
    tar: tar::Builder<Hashing<W>>,
}

impl<W: Write> LayerWriter<W> {
    pub(crate) fn new(out: W) -> Self {
        Self {
            tar: tar::Builder::new(Hashing::new(out)),
        }
    }

    pub(crate) fn dir(&mut self, path: &[u8], attributes: Attributes) -> io::Result<()> {
        let mut header = attributes.header(tar::EntryType::Directory);
        self.tar
            .append_data(&mut header, as_path(path), io::empty())
    }

    pub(crate) fn file(
        &mut self,
        path: &[u8],
        attributes: Attributes,
        size: u64,
        contents: impl Read,
    ) -> io::Result<()> {
        let mut header = attributes.header(tar::EntryType::Regular);
        header.set_size(size);
        self.tar.append_data(&mut header, as_path(path), contents)
    }

    pub(crate) fn symlink(
        &mut self,
        path: &[u8],
        target: &[u8],
        attributes: Attributes,
    ) -> io::Result<()> {
        let mut header = attributes.header(tar::EntryType::Symlink);
        self.tar
            .append_link(&mut header, as_path(path), as_path(target))
    }

    /// Writes another name of the file at `target`, which must have been written already.
    pub(crate) fn hard_link(
        &mut self,
        path: &[u8],
        target: &[u8],
        attributes: Attributes,
    ) -> io::Result<()> {
        let mut header = attributes.header(tar::EntryType::Link);
        self.tar
            .append_link(&mut header, as_path(path), as_path(target))
    }

    pub(crate) fn finish(self) -> io::Result<(W, LayerDigest)> {
        let (mut out, digest) = self.tar.into_inner()?.finish();
        out.flush()?;
        Ok((out, digest))
    }
}

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}

/// Returns lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            // Writing into a string can't fail.
            let _written = write!(text, "{byte:02x}");
            text
        })
}

/// Returns the SHA-256 of `bytes` in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Hashes what is written through it.
pub(crate) struct Hashing<W> {
    out: W,
    hash: Sha256,
    size: u64,
}

impl<W> Hashing<W> {
    pub(crate) fn new(out: W) -> Self {
        Self {
            out,
            hash: Sha256::new(),
            size: 0,
        }
    }

    pub(crate) fn finish(self) -> (W, LayerDigest) {
        let hex = hex(&self.hash.finalize());
        let size = self.size;
        (self.out, LayerDigest { hex, size })
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        let (taken, _rest) = bytes.split_at(written);
        self.hash.update(taken);
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
