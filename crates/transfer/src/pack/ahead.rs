//! `Ahead`: the half of a pack that walks and reads.
//!
//! It runs on a thread of its own and fills batches, which the other half ([`super::behind`])
//! hashes and sends. On two cores a pack takes as long as the longer of the two. That is this
//! one, as long as the stream goes nowhere: then it leaves files to be read to the other half
//! whenever that has run out of batches.

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use rustix::fs::Stat;
use rustix::io::Errno;

use super::header::{self, BLOCK, Kind};
use crate::walk::{Sink, mode, seconds, size};
use crate::{Digest, Entry, LinkTarget, Mode, PathSpan, Paths, RelPath, WalkError};

/// Handing over costs a wake-up; this many bytes are worth one, and stay in the cache.
const CAPACITY: usize = 256 << 10;
/// Batches on their way, to and fro: what a pack holds of contents is 768 KiB.
pub(super) const BATCHES: usize = 4;
/// Open files of one batch: with [`BATCHES`] far below what a process may open, also where
/// that is 256.
const MOST_FILES: usize = 32;
/// A file up to this size goes into one batch, even if there is less room in the one at hand.
const LARGEST_IN_ONE: u64 = 32 << 10;
/// Less free space than this is not worth a read.
const SMALLEST_READ: usize = 4 << 10;

/// A piece of the stream, and what has to be known of it.
#[derive(Debug)]
pub(super) struct Batch {
    /// Always initialised, so that a read needs no zeroing; `filled` is what counts.
    bytes: Vec<u8>,
    filled: usize,
    steps: Vec<Step>,
    paths: Paths,
    files: usize,
}

/// What a batch holds, in the order of the stream.
#[derive(Debug)]
pub(super) enum Step {
    /// An entry that is known already, with the bytes of its contents.
    Entry(PathSpan, Entry),
    /// A file whose contents are all in this batch, or will be. Whether it is still what it was
    /// is to be found out.
    Whole(PathSpan, Whole),
    /// A file whose contents follow, in this batch and in later ones.
    Begin(PathSpan, Stat),
    /// Some of them.
    Contents(Range<usize>),
    /// That was all of them. Whether it is still what it was is to be found out.
    End(OwnedFd),
}

/// A file in one batch.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) file: OwnedFd,
    pub(super) stat: Stat,
    pub(super) contents: Range<usize>,
    reading: Reading,
}

/// Who reads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Done,
    /// The other half, which had nothing to do.
    Due,
}

impl Batch {
    pub(super) fn new() -> Self {
        Self {
            bytes: vec![0; CAPACITY],
            filled: 0,
            steps: Vec::new(),
            paths: Paths::default(),
            files: 0,
        }
    }

    /// Reads what is still to be read, and returns the bytes of the stream.
    pub(super) fn complete(&mut self) -> Result<&[u8], WalkError> {
        for step in &self.steps {
            if let Step::Whole(path, whole) = step
                && whole.reading == Reading::Due
            {
                let name = self.paths[*path].as_str().as_bytes();
                let space = &mut self.bytes[whole.contents.clone()];
                read_exactly(&whole.file, space, name)?;
            }
        }
        Ok(&self.bytes[..self.filled])
    }

    /// Takes the steps, with what they refer to, and makes the batch ready to be filled again.
    pub(super) fn take<E>(
        &mut self,
        mut step: impl FnMut(Step, &Paths, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let taken = self.steps.drain(..);
        let taken = taken.map(|taken| step(taken, &self.paths, &self.bytes));
        let outcome = taken.collect();
        self.filled = 0;
        self.files = 0;
        self.paths.clear();
        outcome
    }

    fn room(&self) -> usize {
        CAPACITY - self.filled
    }

    /// Takes up room.
    fn reserve(&mut self, length: usize) -> Range<usize> {
        let start = self.filled;
        self.filled += length;
        start..self.filled
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
pub(super) struct Ahead<'a> {
    batch: Batch,
    header: Vec<u8>,
    full: SyncSender<Batch>,
    empty: Receiver<Batch>,
    queued: &'a AtomicUsize,
}

impl<'a> Ahead<'a> {
    /// `empty` holds the batches to be filled, and gets them back; `queued` counts those that
    /// are full and that the other half has not taken.
    pub(super) fn new(
        full: SyncSender<Batch>,
        empty: Receiver<Batch>,
        queued: &'a AtomicUsize,
    ) -> Result<Self, Stopped> {
        let batch = empty.recv().map_err(|_| Stopped::Unheard)?;
        Ok(Self {
            batch,
            header: Vec::new(),
            full,
            empty,
            queued,
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
        self.queued.fetch_add(1, Ordering::Relaxed);
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
            if self.batch.room() < wanted.min(SMALLEST_READ) {
                self.hand_over()?;
                continue;
            }
            let read = self.read(name, file, wanted.min(self.batch.room()))?;
            left -= read.len() as u64;
            self.batch.steps.push(Step::Contents(read));
        }
        Ok(())
    }

    /// Reads `length` bytes, for which there is room, and says where they are.
    fn read(
        &mut self,
        name: &[u8],
        file: &OwnedFd,
        length: usize,
    ) -> Result<Range<usize>, WalkError> {
        let space = self.batch.reserve(length);
        read_exactly(file, &mut self.batch.bytes[space.clone()], name)?;
        Ok(space)
    }

    /// Adds what is known already.
    fn entry(&mut self, path: &RelPath, entry: Entry) {
        let path = self.batch.paths.push(path);
        self.batch.steps.push(Step::Entry(path, entry));
    }
}

impl Sink for Ahead<'_> {
    type Error = Stopped;

    fn dir(&mut self, path: &RelPath, mtime: i64) -> Result<(), Stopped> {
        self.member(path, Kind::Dir, mtime)?;
        self.entry(path, Entry::Dir);
        Ok(())
    }

    fn symlink(&mut self, path: &RelPath, target: LinkTarget, mtime: i64) -> Result<(), Stopped> {
        self.member(path, Kind::Symlink { target: &target }, mtime)?;
        self.entry(path, Entry::Symlink { target });
        Ok(())
    }

    fn file(&mut self, path: &RelPath, file: OwnedFd, stat: &Stat) -> Result<(), Stopped> {
        let (mode, size) = (mode(stat), size(stat));
        self.member(path, Kind::File { mode, size }, seconds(stat))?;
        if size > self.batch.room() as u64 && size <= LARGEST_IN_ONE {
            self.hand_over()?;
        }
        let name = path.as_str().as_bytes();
        let span = self.batch.paths.push(path);
        match usize::try_from(size) {
            Ok(length) if length <= self.batch.room() => {
                let (contents, reading) = match self.queued.load(Ordering::Relaxed) {
                    0 => (self.batch.reserve(length), Reading::Due),
                    _ => (self.read(name, &file, length)?, Reading::Done),
                };
                let whole = Whole {
                    file,
                    stat: *stat,
                    contents,
                    reading,
                };
                self.batch.steps.push(Step::Whole(span, whole));
            }
            _ => {
                self.batch.steps.push(Step::Begin(span, *stat));
                self.contents(name, &file, size)?;
                self.batch.steps.push(Step::End(file));
            }
        }
        self.batch.files += 1;
        self.append(&[0; BLOCK][..header::padding(size)])?;
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
        self.entry(path, entry);
        Ok(())
    }
}

/// Fills `space` from the position of `file`.
fn read_exactly(file: &OwnedFd, mut space: &mut [u8], name: &[u8]) -> Result<(), WalkError> {
    while !space.is_empty() {
        match rustix::io::read(file, &mut *space) {
            Ok(0) => {
                let name = name.to_vec();
                return Err(WalkError::Shrank { name });
            }
            Ok(length) => space = &mut space[length..],
            Err(Errno::INTR) => {}
            Err(errno) => return Err(WalkError::io(name, errno)),
        }
    }
    Ok(())
}
