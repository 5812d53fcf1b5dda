//! `Ahead`: the half of a pack that walks and reads.
//!
//! It runs on a thread of its own and fills batches, which the other half ([`super::behind`])
//! hashes and sends. Reading a source tree takes as long as hashing it: on two cores a pack
//! takes as long as the longer of the two, and that is the reading.

use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, SyncSender};

use rustix::fs::Stat;
use rustix::io::Errno;

use super::header::{self, BLOCK, Kind};
use crate::walk::{Sink, mode, seconds, size};
use crate::{Digest, Entry, LinkTarget, Mode, RelPath, RelPathBuf, WalkError};

/// Handing over costs a wake-up; this many bytes are worth one, and stay in the cache.
const CAPACITY: usize = 256 << 10;
/// Batches on their way, to and fro: what a pack holds of contents is 768 KiB.
pub(super) const BATCHES: usize = 4;
/// Open files of one batch: with [`BATCHES`] far below what a process may open, also where
/// that is 256.
const MOST_FILES: usize = 32;
/// Less free space than this is not worth a read.
const SMALLEST_READ: usize = 4 << 10;

/// A piece of the stream, and what has to be known of it.
#[derive(Debug)]
pub(super) struct Batch {
    /// Always initialised, so that a read needs no zeroing; `filled` is what counts.
    bytes: Vec<u8>,
    filled: usize,
    pub(super) steps: Vec<Step>,
    files: usize,
}

/// What a batch holds, in the order of the stream.
#[derive(Debug)]
pub(super) enum Step {
    /// An entry that is known already, with the bytes of its contents.
    Entry(RelPathBuf, Entry),
    /// A file whose contents follow, in this batch and in later ones.
    Begin(RelPathBuf, Stat),
    /// Contents, from one offset to another.
    Contents(usize, usize),
    /// The file is complete: whether it is still what it was is to be found out.
    End(OwnedFd),
}

impl Batch {
    pub(super) fn new() -> Self {
        Self {
            bytes: vec![0; CAPACITY],
            filled: 0,
            steps: Vec::new(),
            files: 0,
        }
    }

    /// The bytes of the stream.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }

    /// Makes it ready to be filled again.
    pub(super) fn clear(&mut self) {
        self.filled = 0;
        self.files = 0;
        self.steps.clear();
    }
}

/// Why the walk ended early.
#[derive(Debug)]
pub(super) enum Stopped {
    Walk(WalkError),
    /// The other half wants no more, and knows why.
    Unheard,
}

impl From<WalkError> for Stopped {
    fn from(error: WalkError) -> Self {
        Self::Walk(error)
    }
}

/// Fills batches with what the walk finds.
pub(super) struct Ahead {
    batch: Batch,
    header: Vec<u8>,
    full: SyncSender<Batch>,
    empty: Receiver<Batch>,
}

impl Ahead {
    /// `empty` holds the batches to be filled, and gets them back.
    pub(super) fn new(full: SyncSender<Batch>, empty: Receiver<Batch>) -> Result<Self, Stopped> {
        let batch = empty.recv().map_err(|_| Stopped::Unheard)?;
        Ok(Self {
            batch,
            header: Vec::new(),
            full,
            empty,
        })
    }

    /// Hands over what is left.
    pub(super) fn finish(mut self) -> Result<(), Stopped> {
        self.hand_over()
    }

    fn hand_over(&mut self) -> Result<(), Stopped> {
        if self.batch.filled == 0 && self.batch.steps.is_empty() {
            return Ok(());
        }
        let next = self.empty.recv().map_err(|_| Stopped::Unheard)?;
        let batch = std::mem::replace(&mut self.batch, next);
        self.full.send(batch).map_err(|_| Stopped::Unheard)
    }

    fn member(&mut self, path: &RelPath, kind: Kind<'_>, mtime: i64) -> Result<(), Stopped> {
        let mut header = std::mem::take(&mut self.header);
        header.clear();
        header::append(&mut header, path, kind, mtime);
        let appended = self.append(&header);
        self.header = header;
        appended
    }

    /// Appends bytes; they need not fit into one batch.
    fn append(&mut self, mut bytes: &[u8]) -> Result<(), Stopped> {
        while !bytes.is_empty() {
            if self.batch.filled == CAPACITY {
                self.hand_over()?;
            }
            let Batch {
                bytes: buffer,
                filled,
                ..
            } = &mut self.batch;
            let (now, later) = bytes.split_at(bytes.len().min(CAPACITY - *filled));
            buffer[*filled..*filled + now.len()].copy_from_slice(now);
            *filled += now.len();
            bytes = later;
        }
        Ok(())
    }

    /// Reads a file straight into the batches.
    fn contents(&mut self, name: &[u8], file: &OwnedFd, size: u64) -> Result<(), Stopped> {
        let mut left = size;
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(usize::MAX);
            let start = self.batch.filled;
            if CAPACITY - start < wanted.min(SMALLEST_READ) {
                self.hand_over()?;
                continue;
            }
            let end = start + wanted.min(CAPACITY - start);
            match rustix::io::read(file, &mut self.batch.bytes[start..end]) {
                Ok(0) => {
                    let name = name.to_vec();
                    return Err(WalkError::Shrank { name }.into());
                }
                Ok(length) => {
                    self.batch.filled += length;
                    let step = Step::Contents(start, self.batch.filled);
                    self.batch.steps.push(step);
                    left -= length as u64;
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(WalkError::io(name, errno).into()),
            }
        }
        Ok(())
    }
}

impl Sink for Ahead {
    type Error = Stopped;

    fn dir(&mut self, path: &RelPath, mtime: i64) -> Result<(), Stopped> {
        self.member(path, Kind::Dir, mtime)?;
        let step = Step::Entry(path.to_owned(), Entry::Dir);
        self.batch.steps.push(step);
        Ok(())
    }

    fn symlink(&mut self, path: &RelPath, target: LinkTarget, mtime: i64) -> Result<(), Stopped> {
        self.member(path, Kind::Symlink { target: &target }, mtime)?;
        let step = Step::Entry(path.to_owned(), Entry::Symlink { target });
        self.batch.steps.push(step);
        Ok(())
    }

    fn file(&mut self, path: &RelPath, file: OwnedFd, stat: &Stat) -> Result<(), Stopped> {
        let (mode, size) = (mode(stat), size(stat));
        self.member(path, Kind::File { mode, size }, seconds(stat))?;
        let begin = Step::Begin(path.to_owned(), *stat);
        self.batch.steps.push(begin);
        self.contents(path.as_str().as_bytes(), &file, size)?;
        self.append(&[0; BLOCK][..header::padding(size)])?;
        self.batch.steps.push(Step::End(file));
        self.batch.files += 1;
        match self.batch.files {
            MOST_FILES => self.hand_over(),
            _ => Ok(()),
        }
    }

    fn made(&mut self, path: &RelPath, contents: &[u8]) -> Result<(), Stopped> {
        let size = contents.len() as u64;
        let kind = Kind::File {
            mode: Mode::Plain,
            size,
        };
        self.member(path, kind, 0)?;
        self.append(contents)?;
        self.append(&[0; BLOCK][..header::padding(size)])?;
        let entry = Entry::File {
            mode: Mode::Plain,
            size,
            digest: Digest::of(contents),
        };
        let step = Step::Entry(path.to_owned(), entry);
        self.batch.steps.push(step);
        Ok(())
    }
}
