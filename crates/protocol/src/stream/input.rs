//! `Input`: a reader, block by block.

use std::io::{self, Read};

use super::ustar::BLOCK;
use crate::ChecksumBuilder;
use crate::{Checksum, StreamError};

/// A reader, and how far it is read.
#[derive(Debug)]
pub(super) struct Input<R> {
    reader: R,
    blocks: Blocks,
    sum: ChecksumBuilder,
}

/// Whether the last block that was read was the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blocks {
    None,
    First,
    More,
}

impl<R: Read> Input<R> {
    /// Starts at the first byte.
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            blocks: Blocks::None,
            sum: ChecksumBuilder::default(),
        }
    }

    /// Sums up every byte that was read.
    pub(super) fn checksum(&self) -> Checksum {
        self.sum.so_far()
    }

    /// Reads one header block; `None` at the end of the reader.
    pub(super) fn read_block(&mut self) -> Result<Option<[u8; BLOCK]>, StreamError> {
        let mut block = [0; BLOCK];
        let length = self.read_full(&mut block)?;
        self.blocks = match self.blocks {
            Blocks::None => Blocks::First,
            Blocks::First | Blocks::More => Blocks::More,
        };
        match length {
            0 => Ok(None),
            BLOCK => Ok(Some(block)),
            _ => {
                let error = StreamError::Truncated { within: "a header" };
                Err(self.blame(&block[..length], error))
            }
        }
    }

    /// Names a compressed file, where the first block is no header.
    pub(super) fn blame(&self, block: &[u8], error: StreamError) -> StreamError {
        match compression(block) {
            Some(format) if self.blocks == Blocks::First => StreamError::Compressed { format },
            _ => error,
        }
    }

    /// Reads `size` bytes that are kept in memory, as they come.
    pub(super) fn read_kept(
        &mut self,
        size: u64,
        within: &'static str,
    ) -> Result<Vec<u8>, StreamError> {
        let mut bytes = Vec::new();
        let mut part = (&mut self.reader).take(size);
        part.read_to_end(&mut bytes).map_err(StreamError::Read)?;
        self.sum.update(&bytes);
        if (bytes.len() as u64) < size {
            return Err(StreamError::Truncated { within });
        }
        Ok(bytes)
    }

    /// Reads what fills the body of `name` up to a block.
    pub(super) fn read_padding(&mut self, size: u64, name: &[u8]) -> Result<(), StreamError> {
        let mut block = [0; BLOCK];
        let fill = &mut block[..(size.wrapping_neg() % BLOCK as u64) as usize];
        if self.read_full(fill)? < fill.len() {
            return Err(StreamError::Truncated { within: "a body" });
        }
        if fill.iter().any(|&byte| byte != 0) {
            let name = name.to_vec();
            return Err(StreamError::Padding { name });
        }
        Ok(())
    }

    /// Reads until the buffer is full or the reader ends.
    pub(super) fn read_full(&mut self, buffer: &mut [u8]) -> Result<usize, StreamError> {
        let mut length = 0;
        while length < buffer.len() {
            match self.reader.read(&mut buffer[length..]) {
                Ok(0) => break,
                Ok(more) => length += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(StreamError::Read(error)),
            }
        }
        self.sum.update(&buffer[..length]);
        Ok(length)
    }

    /// Reads what there is, as [`Read::read`].
    pub(super) fn read_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer)?;
        self.sum.update(&buffer[..length]);
        Ok(length)
    }
}

/// Names a compression by its first bytes, to say what is wrong (TAR-50).
fn compression(start: &[u8]) -> Option<&'static str> {
    const MAGIC: [(&[u8], &str); 6] = [
        (b"\x1f\x8b", "gzip"),
        (b"\xfd7zXZ\0", "xz"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"BZh", "bzip2"),
        (b"\x04\x22\x4d\x18", "lz4"),
        (b"PK\x03\x04", "zip"),
    ];
    MAGIC
        .iter()
        .find(|(magic, _)| start.starts_with(magic))
        .map(|&(_, format)| format)
}
