//! `Blob`: a piece of a file, read on its own.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

/// The bytes of one blob, from its start.
#[derive(Debug)]
pub struct Blob {
    file: Arc<File>,
    offset: u64,
    left: u64,
}

impl Blob {
    pub(super) fn new(file: Arc<File>, offset: u64, left: u64) -> Self {
        Self { file, offset, left }
    }

    /// How many bytes were not read yet.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Whether the file reaches as far as the blob.
    pub(super) fn is_whole(&self) -> io::Result<bool> {
        let end = self.offset.checked_add(self.left);
        let length = self.file.metadata()?.len();
        Ok(end.is_some_and(|end| end <= length))
    }
}

impl Read for Blob {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX);
        let wanted = wanted.min(buffer.len());
        let length = self.file.read_at(&mut buffer[..wanted], self.offset)?;
        if length == 0 && wanted > 0 {
            // It was whole when it was opened.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.offset += length as u64;
        self.left -= length as u64;
        Ok(length)
    }
}
