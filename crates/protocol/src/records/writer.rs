//! `RecordWriter`: writes a frame of records.

use std::fmt;
use std::io::{self, Write};

use lazaret_tree::{Digest, common_prefix};

use super::VolumeIdentity;
use super::codec::{BUFFER, FormatTag};
use crate::{Checksum, FileTime};

/// Writes one frame.
#[must_use = "a frame is complete only after `finish`"]
pub struct RecordWriter<'w, W: ?Sized = dyn Write + 'w> {
    out: &'w mut W,
    buffer: Vec<u8>,
    hasher: blake3::Hasher,
    last_path: Vec<u8>,
    records: u64,
}

impl<W: ?Sized> fmt::Debug for RecordWriter<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordWriter")
            .field("records", &self.records)
            .finish_non_exhaustive()
    }
}

impl<'w, W: Write + ?Sized> RecordWriter<'w, W> {
    /// Starts a frame.
    pub fn new(out: &'w mut W, magic: FormatTag) -> Self {
        let mut buffer = Vec::with_capacity(BUFFER + 1024);
        buffer.extend_from_slice(&magic);
        Self {
            out,
            buffer,
            hasher: blake3::Hasher::new(),
            last_path: Vec::new(),
            records: 0,
        }
    }

    /// Starts a record.
    pub fn tag(&mut self, tag: u8) -> io::Result<&mut Self> {
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        self.records += 1;
        Ok(self.u8(tag))
    }

    /// Adds a byte.
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.buffer.push(value);
        self
    }

    /// Adds a number of 32 bits.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.buffer.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Adds a number of 64 bits.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.buffer.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Adds a signed number of 64 bits.
    pub fn i64(&mut self, value: i64) -> &mut Self {
        self.buffer.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Adds a digest.
    pub fn digest(&mut self, digest: &Digest) -> &mut Self {
        self.buffer.extend_from_slice(digest.as_bytes());
        self
    }

    /// Adds a checksum.
    pub fn checksum(&mut self, checksum: Checksum) -> &mut Self {
        let bits = checksum.to_bits();
        self.buffer.extend_from_slice(&bits.to_le_bytes());
        self
    }

    /// Adds a time.
    pub fn time(&mut self, time: FileTime) -> &mut Self {
        self.i64(time.seconds).u32(time.nanos)
    }

    /// Adds an identity.
    pub fn identity(&mut self, identity: &VolumeIdentity) -> &mut Self {
        self.u64(identity.ino)
            .u64(identity.size)
            .u32(identity.mode)
            .time(identity.mtime)
            .time(identity.ctime)
    }

    /// Fails for more than 64 KiB.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<&mut Self> {
        let length = u16::try_from(bytes.len()).map_err(|_| too_long())?;
        self.buffer.extend_from_slice(&length.to_le_bytes());
        self.buffer.extend_from_slice(bytes);
        Ok(self)
    }

    /// Fails for more than 64 KiB.
    pub fn path(&mut self, path: &[u8]) -> io::Result<&mut Self> {
        let shared = common_prefix(&self.last_path, path);
        let length = u16::try_from(path.len()).map_err(|_| too_long())?;
        // Both fit, as the whole path does.
        self.buffer
            .extend_from_slice(&(shared as u16).to_le_bytes());
        self.buffer
            .extend_from_slice(&(length - shared as u16).to_le_bytes());
        self.buffer.extend_from_slice(&path[shared..]);
        self.last_path.truncate(shared);
        self.last_path.extend_from_slice(&path[shared..]);
        Ok(self)
    }

    /// Ends the frame.
    pub fn finish(mut self) -> io::Result<()> {
        let records = self.records;
        self.u8(0).u64(records);
        self.hasher.update(&self.buffer);
        let digest = self.hasher.finalize();
        self.buffer.extend_from_slice(digest.as_bytes());
        self.out.write_all(&self.buffer)?;
        self.out.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.hasher.update(&self.buffer);
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "a field over 64 KiB")
}
