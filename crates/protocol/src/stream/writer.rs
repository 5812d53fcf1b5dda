//! `StreamWriter`: the one writer of our streams.

use std::io::{self, Write};
use std::os::fd::AsFd;

use lazaret_tree::{LinkTarget, Mode, RelPath};
use rustix::io::Errno;

use super::header::{self, BLOCK, Kind};
use crate::ChecksumBuilder;
use crate::{FileTime, Trailer};

/// What a pipe holds, and it stays in the second-level cache: 8 % less processor time
/// than 32 KiB, as fewer files are hashed in pieces; larger chunks gain nothing more.
const CHUNK: usize = 64 << 10;
/// Less free space than this is not worth a read.
const SMALLEST_READ: usize = 4 << 10;

/// Writes a stream: members in path order, then the end mark and the trailer.
///
/// The grammar is that of [`Members`](crate::Members), narrowed: uid and gid 1000,
/// no names of owners, modes 0755 and 0644, times from 1980 on, their nanoseconds in the
/// fields of device numbers, PAX records only for paths, targets and sizes that ustar cannot
/// hold. The same members
/// become the same bytes.
#[derive(Debug)]
#[must_use = "without `finish` the stream is cut off, and the other side refuses it"]
pub struct StreamWriter<W> {
    out: W,
    /// Always initialised, so that a read needs no zeroing; `filled` is what counts.
    buffer: Vec<u8>,
    filled: usize,
    /// One header and its PAX records.
    header: Vec<u8>,
    sum: ChecksumBuilder,
    entries: u64,
    bytes: u64,
}

/// Why a file could not be sent.
#[derive(Debug, thiserror::Error)]
pub enum SendFileError {
    /// The stream cannot be written.
    #[error("the stream cannot be written: {0}")]
    Write(#[source] io::Error),
    /// The file cannot be read.
    #[error("{0}")]
    Read(#[source] io::Error),
    /// The file ended too early.
    #[error("shrank while it was read")]
    Shrank,
}

impl<W: Write> StreamWriter<W> {
    /// Starts a stream.
    pub fn new(out: W) -> Self {
        Self {
            out,
            buffer: vec![0; CHUNK],
            filled: 0,
            header: Vec::new(),
            sum: ChecksumBuilder::default(),
            entries: 0,
            bytes: 0,
        }
    }

    /// Adds a directory, whose time tells nothing. Members come in path order: the other side refuses any other.
    ///
    /// # Errors
    /// When the stream cannot be written.
    pub fn dir(&mut self, path: &RelPath) -> io::Result<()> {
        self.member(path, Kind::Dir, FileTime::default())
    }

    /// Adds a symbolic link.
    ///
    /// # Errors
    /// When the stream cannot be written.
    pub fn symlink(
        &mut self,
        path: &RelPath,
        target: &LinkTarget,
        mtime: FileTime,
    ) -> io::Result<()> {
        self.member(path, Kind::Symlink { target }, mtime)
    }

    /// Adds a file that is in memory.
    ///
    /// # Errors
    /// When the stream cannot be written.
    pub fn contents(
        &mut self,
        path: &RelPath,
        mode: Mode,
        contents: &[u8],
        mtime: FileTime,
    ) -> io::Result<()> {
        let size = contents.len() as u64;
        self.member(path, Kind::File { mode, size }, mtime)?;
        self.append(contents)?;
        self.end_file(size)
    }

    /// Adds a file of `size` bytes from an open descriptor, reading straight into
    /// the output buffer. `tee` is handed every piece.
    ///
    /// # Errors
    /// When either side fails, or the file is shorter; the stream is useless then.
    /// Whether the file is longer, the caller finds out.
    pub fn file(
        &mut self,
        path: &RelPath,
        mode: Mode,
        size: u64,
        mtime: FileTime,
        file: impl AsFd,
        tee: &mut dyn FnMut(&[u8]),
    ) -> Result<(), SendFileError> {
        let member = self.member(path, Kind::File { mode, size }, mtime);
        member.map_err(SendFileError::Write)?;
        let mut left = size;
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(usize::MAX);
            let start = self.filled;
            if CHUNK - start < wanted.min(SMALLEST_READ) {
                self.flush().map_err(SendFileError::Write)?;
                continue;
            }
            let end = start + wanted.min(CHUNK - start);
            match rustix::io::read(&file, &mut self.buffer[start..end]) {
                Ok(0) => return Err(SendFileError::Shrank),
                Ok(length) => {
                    self.filled += length;
                    tee(&self.buffer[start..self.filled]);
                    left -= length as u64;
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(SendFileError::Read(errno.into())),
            }
        }
        self.end_file(size).map_err(SendFileError::Write)
    }

    /// Ends the stream and returns what its trailer says.
    ///
    /// # Errors
    /// When the stream cannot be written.
    pub fn finish(mut self) -> io::Result<Trailer> {
        self.append(&[0; 2 * BLOCK])?;
        self.flush()?;
        let trailer = Trailer {
            entries: self.entries,
            bytes: self.bytes,
            stream: self.sum.so_far(),
        };
        self.out.write_all(&trailer.encode())?;
        self.out.flush()?;
        Ok(trailer)
    }

    fn member(&mut self, path: &RelPath, kind: Kind<'_>, mtime: FileTime) -> io::Result<()> {
        self.entries += 1;
        let mut header = std::mem::take(&mut self.header);
        header.clear();
        header::append(&mut header, path, kind, mtime);
        let appended = self.append(&header);
        self.header = header;
        appended
    }

    fn end_file(&mut self, size: u64) -> io::Result<()> {
        self.bytes += size;
        self.append(&[0; BLOCK][..header::padding(size)])
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if CHUNK - self.filled < bytes.len() {
            self.flush()?;
        }
        if bytes.len() > CHUNK {
            self.sum.update(bytes);
            return self.out.write_all(bytes);
        }
        self.buffer[self.filled..self.filled + bytes.len()].copy_from_slice(bytes);
        self.filled += bytes.len();
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = &self.buffer[..self.filled];
        self.sum.update(piece);
        self.out.write_all(piece)?;
        self.filled = 0;
        Ok(())
    }
}
