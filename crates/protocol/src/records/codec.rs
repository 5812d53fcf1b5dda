//! `frame`: the record format under every list that host and porter exchange or keep.
//!
//! ```text
//! frame  = magic record* end
//! magic  = 8 bytes: what the frame is, and its version
//! record = tag field*               tag: one byte, not 0
//! end    = 0 count digest           count: u64, how many records
//!                                   digest: BLAKE3 of every byte before it
//! field  = u8 | u32 | u64 | i64     little endian
//!        | 32 bytes                 a digest
//!        | length:u16 bytes
//!        | path                     shared:u16 length:u16 bytes
//! ```
//!
//! A path gives only what differs from the path before it in the same frame:
//! lists are sorted, so that halves them. A reader knows the end by itself and
//! never needs the end of the file; a frame that is cut anywhere, or changed in
//! any bit, is refused. Nothing is allocated by a claimed length: a field is at
//! most 64 KiB, and a record exists only once its bytes have arrived.

use std::fmt;
use std::io::{self, Read, Write};

use lazaret_tree::{Digest, FindingCode, common_prefix, finding_code};

use super::VolumeIdentity;
use crate::{Checksum, FileTime};

/// The first bytes of a frame.
pub type FormatTag = [u8; 8];

const BUFFER: usize = 64 << 10;

/// Why bytes are not the list that they should be.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The reader failed.
    #[error("the list cannot be read: {0}")]
    Read(#[source] io::Error),
    /// It ends too early.
    #[error("the list is cut off")]
    Truncated,
    /// It is something else, or of another version.
    #[error("not a {expected}")]
    Magic {
        /// What it should be.
        expected: &'static str,
    },
    /// A field or a tag that no writer produces.
    #[error("a malformed list: {what}")]
    Malformed {
        /// What is wrong, as a sentence fragment.
        what: &'static str,
    },
    /// The count or the digest at the end is wrong.
    #[error("the list is damaged")]
    Damaged,
    /// Something follows the end.
    #[error("bytes follow the end of the list")]
    Trailing,
    /// More records or longer names than allowed.
    #[error("the list is longer than allowed")]
    TooLong,
}

impl RecordError {
    /// Refuses a field or a tag; `what` is a sentence fragment.
    pub fn malformed(what: &'static str) -> Self {
        Self::Malformed { what }
    }

    /// Returns the stable code.
    pub fn code(&self) -> &'static FindingCode {
        match self {
            Self::Read(_) => finding_code::IO_READ,
            Self::Truncated => finding_code::LIST_TRUNCATED,
            Self::Magic { .. } => finding_code::LIST_MAGIC,
            Self::Malformed { .. } => finding_code::LIST_MALFORMED,
            Self::Damaged => finding_code::LIST_DAMAGED,
            Self::Trailing => finding_code::LIST_TRAILING,
            Self::TooLong => finding_code::LIMIT_LIST,
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    const MAGIC: FormatTag = *b"lztest 1";

    fn write() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut frame = RecordWriter::new(&mut bytes, MAGIC);
        for path in ["a", "a/b", "a/c/d", "z"] {
            let record = frame.tag(b'p').expect("to memory");
            record.path(path.as_bytes()).expect("short");
            record.u64(7).bytes(b"field").expect("short");
        }
        frame.finish().expect("to memory");
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Vec<String>, RecordError> {
        let mut input = bytes;
        let mut frame = RecordReader::new(&mut input, MAGIC, "test")?;
        let mut paths = Vec::new();
        while let Some(tag) = frame.tag()? {
            assert_eq!(tag, b'p');
            paths.push(String::from_utf8_lossy(frame.path()?).into_owned());
            assert_eq!(frame.u64()?, 7);
            assert_eq!(frame.bytes()?, b"field");
        }
        Ok(paths)
    }

    #[test]
    fn reads_what_it_writes() {
        assert_eq!(read(&write()).expect("whole"), ["a", "a/b", "a/c/d", "z"]);
    }

    #[test]
    fn a_frame_cut_anywhere_is_refused() {
        let whole = write();
        for length in 0..whole.len() {
            assert!(read(&whole[..length]).is_err(), "{length} bytes");
        }
        let mut longer = whole;
        longer.push(0);
        assert!(matches!(read(&longer), Err(RecordError::Trailing)));
    }

    #[test]
    fn a_changed_bit_is_refused() {
        let whole = write();
        for position in 0..whole.len() {
            for bit in 0..8 {
                let mut changed = whole.clone();
                changed[position] ^= 1 << bit;
                let outcome = std::panic::catch_unwind(|| read(&changed));
                // A changed field may trip an assertion above; it is never taken.
                assert!(!matches!(outcome, Ok(Ok(_))), "byte {position}, bit {bit}");
            }
        }
    }

    #[test]
    fn many_records_cross_the_buffer() {
        let mut bytes = Vec::new();
        let mut frame = RecordWriter::new(&mut bytes, MAGIC);
        for number in 0..20_000 {
            let record = frame.tag(b'n').expect("to memory");
            record
                .path(format!("dir/{number}").as_bytes())
                .expect("short");
            record.bytes(&vec![b'x'; number % 300]).expect("short");
        }
        frame.finish().expect("to memory");
        // One byte at a time is the worst a pipe can do.
        let mut input = OneByOne(&bytes);
        let mut frame = RecordReader::new(&mut input, MAGIC, "test").expect("magic");
        let mut number = 0;
        while frame.tag().expect("whole").is_some() {
            assert_eq!(
                frame.path().expect("whole"),
                format!("dir/{number}").as_bytes()
            );
            assert_eq!(frame.bytes().expect("whole").len(), number % 300);
            number += 1;
        }
        assert_eq!(number, 20_000);
    }

    struct OneByOne<'a>(&'a [u8]);

    impl Read for OneByOne<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = buffer.len().min(1);
            Read::read(&mut self.0, &mut buffer[..length])
        }
    }
}
