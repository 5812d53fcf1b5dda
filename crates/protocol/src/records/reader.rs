//! `RecordReader`: reads a frame of records, and refuses one that is cut or changed.

use std::fmt;
use std::io::{self, Read};

use lazaret_tree::Digest;

use super::VolumeIdentity;
use super::codec::{BUFFER, FormatTag};
use super::record_error::RecordError;
use crate::{Checksum, FileTime};

/// Reads one frame.
///
/// Every method that reads fails if the frame ends before, or the reader fails.
pub struct RecordReader<'r> {
    input: &'r mut dyn Read,
    buffer: Vec<u8>,
    /// What of the buffer was taken, and what of it is filled.
    taken: usize,
    filled: usize,
    hashed: usize,
    hasher: blake3::Hasher,
    last_path: Vec<u8>,
    records: u64,
}

impl fmt::Debug for RecordReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordReader")
            .field("records", &self.records)
            .finish_non_exhaustive()
    }
}

impl<'r> RecordReader<'r> {
    /// Reads the magic; `expected` names the list in errors.
    pub fn new(
        input: &'r mut dyn Read,
        magic: FormatTag,
        expected: &'static str,
    ) -> Result<Self, RecordError> {
        let mut reader = Self {
            input,
            buffer: vec![0; BUFFER],
            taken: 0,
            filled: 0,
            hashed: 0,
            hasher: blake3::Hasher::new(),
            last_path: Vec::new(),
            records: 0,
        };
        if reader.array::<8>()? != magic {
            return Err(RecordError::Magic { expected });
        }
        Ok(reader)
    }

    /// Reads the tag of the next record; `None` at the end, once count and digest
    /// are right and nothing that has arrived already follows.
    pub fn tag(&mut self) -> Result<Option<u8>, RecordError> {
        let tag = self.u8()?;
        if tag != 0 {
            self.records += 1;
            return Ok(Some(tag));
        }
        let records = self.u64()?;
        self.hash_taken();
        let digest = Digest::from(self.hasher.finalize());
        if records != self.records || *digest.as_bytes() != self.array::<32>()? {
            return Err(RecordError::Damaged);
        }
        if self.taken != self.filled {
            return Err(RecordError::Trailing);
        }
        Ok(None)
    }

    /// Reads the tag of the next record if it is one of `tags`.
    pub fn tag_among(&mut self, tags: &[u8]) -> Result<Option<u8>, RecordError> {
        if self.taken == self.filled {
            self.refill(1)?;
        }
        if tags.contains(&self.buffer[self.taken]) {
            return self.tag();
        }
        Ok(None)
    }

    /// Reads the end; see [`RecordReader::tag`].
    ///
    /// # Errors
    /// When another record follows, or the end is wrong.
    pub fn finish(mut self) -> Result<(), RecordError> {
        match self.tag()? {
            None => Ok(()),
            Some(_) => Err(RecordError::malformed("a tag")),
        }
    }

    /// Reads a byte.
    pub fn u8(&mut self) -> Result<u8, RecordError> {
        Ok(self.array::<1>()?[0])
    }

    /// Reads a number of 32 bits.
    pub fn u32(&mut self) -> Result<u32, RecordError> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads a number of 64 bits.
    pub fn u64(&mut self) -> Result<u64, RecordError> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads a signed number of 64 bits.
    pub fn i64(&mut self) -> Result<i64, RecordError> {
        self.array().map(i64::from_le_bytes)
    }

    /// Reads a digest.
    pub fn digest(&mut self) -> Result<Digest, RecordError> {
        self.array().map(Digest::from)
    }

    /// Reads a checksum.
    pub fn checksum(&mut self) -> Result<Checksum, RecordError> {
        let bits = self.array().map(u64::from_le_bytes)?;
        Ok(Checksum::from_bits(bits))
    }

    /// Reads a time.
    pub fn time(&mut self) -> Result<FileTime, RecordError> {
        Ok(FileTime {
            seconds: self.i64()?,
            nanos: self.u32()?,
        })
    }

    /// Reads an identity.
    pub fn identity(&mut self) -> Result<VolumeIdentity, RecordError> {
        Ok(VolumeIdentity {
            ino: self.u64()?,
            size: self.u64()?,
            mode: self.u32()?,
            mtime: self.time()?,
            ctime: self.time()?,
        })
    }

    /// Reads bytes with their length before them.
    pub fn bytes(&mut self) -> Result<&[u8], RecordError> {
        let length = usize::from(u16::from_le_bytes(self.array()?));
        self.take(length)
    }

    /// Reads a path, of which the record only holds what differs from the path before.
    pub fn path(&mut self) -> Result<&[u8], RecordError> {
        let shared = usize::from(u16::from_le_bytes(self.array()?));
        let length = usize::from(u16::from_le_bytes(self.array()?));
        if shared > self.last_path.len() || shared + length > usize::from(u16::MAX) {
            return Err(RecordError::malformed("a path shares more than there is"));
        }
        let mut path = std::mem::take(&mut self.last_path);
        path.truncate(shared);
        path.extend_from_slice(self.take(length)?);
        self.last_path = path;
        Ok(&self.last_path)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], RecordError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// Takes `length` bytes, at most the buffer's.
    fn take(&mut self, length: usize) -> Result<&[u8], RecordError> {
        if self.filled - self.taken < length {
            self.refill(length)?;
        }
        let start = self.taken;
        self.taken += length;
        Ok(&self.buffer[start..self.taken])
    }

    fn refill(&mut self, length: usize) -> Result<(), RecordError> {
        self.hash_taken();
        self.buffer.copy_within(self.taken..self.filled, 0);
        self.filled -= self.taken;
        (self.taken, self.hashed) = (0, 0);
        while self.filled < length {
            match self.input.read(&mut self.buffer[self.filled..]) {
                Ok(0) => return Err(RecordError::Truncated),
                Ok(more) => self.filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(RecordError::Read(error)),
            }
        }
        Ok(())
    }

    fn hash_taken(&mut self) {
        self.hasher.update(&self.buffer[self.hashed..self.taken]);
        self.hashed = self.taken;
    }
}
