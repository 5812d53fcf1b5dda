//! `StreamWriter`: the one writer of our streams.

use std::io::{self, Write};
use std::os::fd::AsFd;

use rustix::io::Errno;

use super::header::{self, BLOCK, Kind};
use crate::{Digest, Entry, LinkTarget, Mode, RelPath, RelPathBuf, Trailer, Tree};

/// What a pipe holds, and it stays in the second-level cache: 8 % less processor time
/// than 32 KiB, as fewer files are hashed in pieces; larger chunks gain nothing more.
const CHUNK: usize = 64 << 10;
/// Less free space than this is not worth a read.
const SMALLEST_READ: usize = 4 << 10;

/// Writes a stream: members in path order, then the end mark and the trailer.
///
/// The grammar is that of [`Members`](crate::Members), narrowed: uid and gid 1000,
/// no names of owners, modes 0755 and 0644, whole seconds from 1980 on, PAX records
/// only for paths, targets and sizes that ustar cannot hold. The same members
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
    /// What was sent, in path order: a tree is made of it at once at the end.
    entries: Vec<(RelPathBuf, Entry)>,
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
            entries: Vec::new(),
            bytes: 0,
        }
    }

    /// Adds a directory.
    ///
    /// # Errors
    /// When the stream cannot be written.
    pub fn dir(&mut self, path: &RelPath, mtime: i64) -> io::Result<()> {
        self.member(path, Kind::Dir, mtime)?;
        self.entries.push((path.to_owned(), Entry::Dir));
        Ok(())
    }

    /// Adds a symbolic link.
    ///
    /// # Errors
    /// When the stream cannot be written.
    pub fn symlink(&mut self, path: &RelPath, target: LinkTarget, mtime: i64) -> io::Result<()> {
        self.member(path, Kind::Symlink { target: &target }, mtime)?;
        self.entries
            .push((path.to_owned(), Entry::Symlink { target }));
        Ok(())
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
        mtime: i64,
    ) -> io::Result<()> {
        let size = contents.len() as u64;
        self.member(path, Kind::File { mode, size }, mtime)?;
        self.append(contents)?;
        self.end_file(path, mode, size, Digest::of(contents))
    }

    /// Adds a file of `size` bytes from an open descriptor, reading straight into
    /// the output buffer, and returns its digest. `tee` is handed every piece.
    ///
    /// # Errors
    /// When either side fails, or the file is shorter; the stream is useless then.
    /// Whether the file is longer, the caller finds out.
    pub fn file(
        &mut self,
        path: &RelPath,
        mode: Mode,
        size: u64,
        mtime: i64,
        file: impl AsFd,
        tee: &mut dyn FnMut(&[u8]),
    ) -> Result<Digest, SendFileError> {
        let member = self.member(path, Kind::File { mode, size }, mtime);
        member.map_err(SendFileError::Write)?;
        let mut hasher = blake3::Hasher::new();
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
                    let piece = &self.buffer[start..self.filled];
                    hasher.update(piece);
                    tee(piece);
                    left -= length as u64;
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(SendFileError::Read(errno.into())),
            }
        }
        let digest = hasher.finalize().into();
        let ended = self.end_file(path, mode, size, digest);
        ended.map_err(SendFileError::Write)?;
        Ok(digest)
    }

    /// Ends the stream and returns what it held and what its trailer says.
    ///
    /// # Errors
    /// When the stream cannot be written.
    pub fn finish(mut self) -> io::Result<(Tree, Trailer)> {
        let tree: Tree = self.entries.drain(..).collect();
        let trailer = Trailer {
            entries: tree.len() as u64,
            bytes: self.bytes,
            tree: tree.digest(),
        };
        self.append(&[0; 2 * BLOCK])?;
        self.append(&trailer.encode())?;
        self.flush()?;
        self.out.flush()?;
        Ok((tree, trailer))
    }

    fn member(&mut self, path: &RelPath, kind: Kind<'_>, mtime: i64) -> io::Result<()> {
        debug_assert!(
            self.entries.last().is_none_or(|(last, _)| **last < *path),
            "members come in path order"
        );
        let mut header = std::mem::take(&mut self.header);
        header.clear();
        header::append(&mut header, path, kind, mtime);
        let appended = self.append(&header);
        self.header = header;
        appended
    }

    fn end_file(
        &mut self,
        path: &RelPath,
        mode: Mode,
        size: u64,
        digest: Digest,
    ) -> io::Result<()> {
        self.append(&[0; BLOCK][..header::padding(size)])?;
        self.bytes += size;
        let entry = Entry::File { mode, size, digest };
        self.entries.push((path.to_owned(), entry));
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if CHUNK - self.filled < bytes.len() {
            self.flush()?;
        }
        if bytes.len() > CHUNK {
            return self.out.write_all(bytes);
        }
        self.buffer[self.filled..self.filled + bytes.len()].copy_from_slice(bytes);
        self.filled += bytes.len();
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer[..self.filled])?;
        self.filled = 0;
        Ok(())
    }
}
