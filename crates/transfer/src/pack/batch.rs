//! `Batch`: a piece of the stream on its way from one half of a pack to the other.

use std::ops::Range;
use std::os::fd::OwnedFd;

use lazaret_protocol::stream::header;
use lazaret_protocol::{Checksum, ChecksumBuilder};
use lazaret_tree::{Digest, Entry, PathSpan, Paths, RelPath};
use rustix::fs::Stat;
use rustix::io::Errno;

use crate::WalkError;
use crate::select::holds_private_key;
use crate::walk::{KeyCheck, check_unchanged, size};

/// Handing over costs a wake-up; this many bytes are worth one, and stay in the cache.
const CAPACITY: usize = 256 << 10;
/// Batches on their way, to and fro: what a pack holds of contents is 2 MiB.
pub(super) const BATCHES: usize = 8;
/// Files of one batch: with [`BATCHES`] all that are open stay below what a process may open,
/// also where that is 256.
const MOST_FILES: usize = 16;

/// A piece of the stream, and what has to be known of it.
#[derive(Debug)]
pub(super) struct Batch {
    /// Always initialised, so that a read needs no zeroing; `filled` is what counts.
    bytes: Vec<u8>,
    filled: usize,
    steps: Vec<Step>,
    paths: Paths,
    files: usize,
    reader: Reader,
    /// Of the bytes, once nothing is to be read any more.
    sum: Option<Checksum>,
}

/// Which half reads and hashes the files that are whole in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    ReadStage,
    WriteStage,
}

/// What a batch holds, in the order of the stream.
#[derive(Debug)]
pub(super) enum Step {
    /// An entry that is known already, with the bytes of its contents.
    Entry(PathSpan, Entry),
    /// A file that was read and hashed, and was still what it had been.
    Read(PathSpan, Stat, Digest),
    /// A file that is open, and that the other half is to read.
    Deferred(PathSpan, Unread),
    /// A file that was read, and stays out since it holds a key.
    Kept(PathSpan, Stat),
    /// A file whose contents follow, in this batch and in later ones.
    Begin(PathSpan, Stat),
    /// Some of them.
    Contents(Range<usize>),
    /// That was all of them. Whether it is still what it was is to be found out.
    End(OwnedFd),
}

/// A file whose header is in a batch, and whose contents are to be read into it.
#[derive(Debug)]
pub(super) struct Unread {
    pub(super) file: OwnedFd,
    pub(super) stat: Stat,
    pub(super) check: KeyCheck,
    /// Where in the batch its header is. It has to be in this one as a whole if the contents
    /// are looked into.
    pub(super) header: Range<usize>,
}

/// Whether a file is still in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Added {
    Yes,
    /// It stays out, and there is nothing of it in the batch.
    No,
}

impl Step {
    /// Follows bytes that moved to the front, since `cut` was taken out before them.
    fn follow(&mut self, cut: &Range<usize>) {
        if let Self::Contents(contents) = self
            && contents.start >= cut.end
        {
            *contents = contents.start - cut.len()..contents.end - cut.len();
        }
    }
}

impl Batch {
    pub(super) fn new() -> Self {
        Self {
            bytes: vec![0; CAPACITY],
            filled: 0,
            steps: Vec::new(),
            paths: Paths::default(),
            files: 0,
            reader: Reader::WriteStage,
            sum: None,
        }
    }

    /// Starts filling an empty one, whose files `reader` reads.
    pub(super) fn start(&mut self, reader: Reader) {
        self.reader = reader;
        self.sum = None;
    }

    pub(super) fn reader(&self) -> Reader {
        self.reader
    }

    pub(super) fn is_empty(&self) -> bool {
        self.filled == 0 && self.steps.is_empty()
    }

    pub(super) fn has_files_enough(&self) -> bool {
        self.files == MOST_FILES
    }

    /// Returns how many bytes can be added.
    pub(super) fn room(&self) -> usize {
        CAPACITY - self.filled
    }

    /// Adds as many bytes as there is room for, and returns the rest.
    pub(super) fn append<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let (now, later) = bytes.split_at(bytes.len().min(self.room()));
        let space = self.reserve(now.len());
        self.bytes[space].copy_from_slice(now);
        later
    }

    /// Adds what is known already.
    pub(super) fn entry(&mut self, path: &RelPath, entry: Entry) {
        let path = self.paths.push(path);
        self.steps.push(Step::Entry(path, entry));
    }

    /// Returns where the next byte goes.
    pub(super) fn end_of_bytes(&self) -> usize {
        self.filled
    }

    /// Adds a file of `length` bytes, for which there is room, right behind its header.
    pub(super) fn file(
        &mut self,
        path: &RelPath,
        file: Unread,
        length: usize,
    ) -> Result<Added, WalkError> {
        let (span, contents) = (self.paths.push(path), self.reserve(length));
        self.files += 1;
        let (step, added) = match self.reader {
            Reader::WriteStage => (Step::Deferred(span, file), Added::Yes),
            Reader::ReadStage => match file.read(&mut self.bytes[contents], path)? {
                Some(digest) => (Step::Read(span, file.stat, digest), Added::Yes),
                None => {
                    self.filled = file.header.start;
                    (Step::Kept(span, file.stat), Added::No)
                }
            },
        };
        self.steps.push(step);
        Ok(added)
    }

    /// Starts a file that need not fit.
    pub(super) fn begin(&mut self, path: &RelPath, stat: &Stat) {
        let path = self.paths.push(path);
        self.steps.push(Step::Begin(path, *stat));
    }

    /// Reads `length` bytes of it from `offset` on, for which there is room.
    pub(super) fn contents(
        &mut self,
        file: &OwnedFd,
        (offset, length): (u64, usize),
        name: &[u8],
    ) -> Result<(), WalkError> {
        let space = self.reserve(length);
        read_exactly(file, offset, &mut self.bytes[space.clone()], name)?;
        self.steps.push(Step::Contents(space));
        Ok(())
    }

    /// Ends it.
    pub(super) fn end(&mut self, file: OwnedFd) {
        self.files += 1;
        self.steps.push(Step::End(file));
    }

    /// Sums up what was read, while it is in the cache.
    pub(super) fn close(&mut self) {
        self.sum = match self.reader {
            Reader::ReadStage => Some(Checksum::of(&self.bytes[..self.filled])),
            Reader::WriteStage => None,
        };
    }

    /// Reads and hashes what is left, and returns the bytes of the stream.
    pub(super) fn complete(&mut self) -> Result<&[u8], WalkError> {
        let mut cuts: Vec<Range<usize>> = Vec::new();
        for step in &mut self.steps {
            if let Step::Deferred(path, file) = step {
                let (path, stat) = (*path, file.stat);
                let (start, size) = (file.header.end, size(&stat));
                let end = start + usize::try_from(size).unwrap_or(usize::MAX);
                let contents = &mut self.bytes[start..end];
                *step = match file.read(contents, &self.paths[path])? {
                    Some(digest) => Step::Read(path, stat, digest),
                    None => {
                        cuts.push(file.header.start..end + header::padding(size));
                        Step::Kept(path, stat)
                    }
                };
            }
        }
        // The last first, so that those before it stay where they are.
        for cut in cuts.iter().rev() {
            self.bytes.copy_within(cut.end..self.filled, cut.start);
            self.filled -= cut.len();
            self.steps.iter_mut().for_each(|step| step.follow(cut));
        }
        Ok(&self.bytes[..self.filled])
    }

    /// Adds its bytes, which are complete.
    pub(super) fn add_to(&self, sum: &mut ChecksumBuilder) {
        let bytes = &self.bytes[..self.filled];
        match self.sum {
            Some(known) => sum.append(known, bytes.len() as u64),
            None => sum.update(bytes),
        }
    }

    /// Takes the steps, with what they refer to, and leaves the batch empty.
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

    /// Takes up room.
    fn reserve(&mut self, length: usize) -> Range<usize> {
        let start = self.filled;
        self.filled += length;
        start..self.filled
    }
}

impl Unread {
    /// Reads the file into `space`, which is as long, and holds it against what it was; `None`
    /// for one that holds a key.
    fn read(&self, space: &mut [u8], path: &RelPath) -> Result<Option<Digest>, WalkError> {
        let name = path.as_str().as_bytes();
        read_exactly(&self.file, 0, space, name)?;
        check_unchanged(&self.file, &self.stat, name)?;
        match self.check.looks_into(space.len() as u64) && holds_private_key(space) {
            true => Ok(None),
            false => Ok(Some(Digest::of(space))),
        }
    }
}

/// Fills `space` from `offset` on.
fn read_exactly(
    file: &OwnedFd,
    mut offset: u64,
    mut space: &mut [u8],
    name: &[u8],
) -> Result<(), WalkError> {
    while !space.is_empty() {
        // Not `read`, which locks the position where several threads have open files.
        match rustix::io::pread(file, &mut *space, offset) {
            Ok(0) => {
                let name = name.to_vec();
                return Err(WalkError::Shrank { name });
            }
            Ok(length) => {
                space = &mut space[length..];
                offset += length as u64;
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(WalkError::io(name, errno)),
        }
    }
    Ok(())
}
