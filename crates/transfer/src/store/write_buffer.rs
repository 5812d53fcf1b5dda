//! `WriteBuffer`: contents on their way to a file.

use std::io::{self, Read};

/// What is written at once, in bytes: most of what a write costs is the same for one file as
/// for a hundred.
const CAPACITY: usize = 1 << 20;
/// With less room than this in bytes, small files would be hashed in pieces.
const LITTLE: usize = 64 << 10;

/// A buffer that is read into.
#[derive(Debug, Default)]
pub(super) struct WriteBuffer {
    /// Empty until it is needed; then always initialised, so that a read needs no zeroing.
    buffer: Vec<u8>,
    filled: usize,
}

impl WriteBuffer {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }

    /// Whether it has room, once something was read into it.
    pub(super) fn is_full(&self) -> bool {
        self.filled == CAPACITY
    }

    pub(super) fn is_nearly_full(&self) -> bool {
        CAPACITY - self.filled < LITTLE
    }

    /// Reads until the buffer is full or the reader ends, and returns what was read.
    pub(super) fn fill(&mut self, reader: &mut dyn Read) -> io::Result<&[u8]> {
        self.buffer.resize(CAPACITY, 0);
        let start = self.filled;
        while self.filled < CAPACITY {
            match reader.read(&mut self.buffer[self.filled..]) {
                Ok(0) => break,
                Ok(more) => self.filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&self.buffer[start..self.filled])
    }

    /// Keeps the first `length` bytes, if there are more.
    pub(super) fn truncate(&mut self, length: usize) {
        self.filled = self.filled.min(length);
    }
}
