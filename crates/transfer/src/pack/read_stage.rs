//! `ReadStage`: the half of a pack that walks and reads.
//!
//! It runs on a thread of its own and fills batches, which the other half ([`super::write_stage`])
//! sends. What opening files leaves over is shared: the files of a batch are read and hashed by
//! the other half, unless that has batches enough; then they are read and hashed here. So both
//! are at work until the end, and contents are hashed where they are in the cache.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use lazaret_protocol::FileTime;
use lazaret_protocol::stream::header::{self, BLOCK, Kind};
use lazaret_tree::{Digest, Entry, LinkTarget, MAX_PATH_BYTES, Mode, RelPath};
use rustix::fs::Stat;

use super::batch::{Added, Batch, Reader, Unread};
use super::mtime;
use crate::WalkError;
use crate::walk::{KeyCheck, Visitor, mode, size};

/// As long as the other half has so many batches to read, it has enough to do for the time that
/// it takes to fill one more and read its files here.
const ENOUGH_LEFT: usize = 4;
/// A file up to this size goes into one batch, even if there is less room in the one at hand.
const LARGEST_IN_ONE: u64 = 32 << 10;
/// The longest header, PAX records included: three blocks, and a path of 4 KiB.
const LONGEST_HEADER: usize = 3 * BLOCK + 2 * MAX_PATH_BYTES;
/// Less free space than this is not worth a read.
const SMALLEST_READ: usize = 4 << 10;

/// Why the walk ended early.
#[derive(Debug)]
pub(super) enum Stopped {
    Walk(WalkError),
    /// The other half wants no more, and knows why.
    ReceiverClosed,
}

impl From<WalkError> for Stopped {
    fn from(error: WalkError) -> Self {
        Self::Walk(error)
    }
}

/// Fills batches with what the walk finds.
pub(super) struct ReadStage<'a> {
    batch: Batch,
    header: Vec<u8>,
    full: SyncSender<Batch>,
    empty: Receiver<Batch>,
    left: &'a AtomicUsize,
}

impl<'a> ReadStage<'a> {
    /// `empty` holds the batches to be filled, and gets them back; `left` counts those whose
    /// files the other half has to read, and has not.
    pub(super) fn new(
        full: SyncSender<Batch>,
        empty: Receiver<Batch>,
        left: &'a AtomicUsize,
    ) -> Result<Self, Stopped> {
        let batch = empty.recv().map_err(|_| Stopped::ReceiverClosed)?;
        Ok(Self {
            batch,
            header: Vec::new(),
            full,
            empty,
            left,
        })
    }

    /// Hands over what is left.
    pub(super) fn finish(mut self) -> Result<(), Stopped> {
        self.hand_over()
    }

    fn hand_over(&mut self) -> Result<(), Stopped> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.batch.close();
        let mut next = self.empty.recv().map_err(|_| Stopped::ReceiverClosed)?;
        let left = match self.batch.reader() {
            Reader::WriteStage => 1 + self.left.fetch_add(1, Ordering::Relaxed),
            Reader::ReadStage => self.left.load(Ordering::Relaxed),
        };
        next.start(match left < ENOUGH_LEFT {
            true => Reader::WriteStage,
            false => Reader::ReadStage,
        });
        let batch = std::mem::replace(&mut self.batch, next);
        self.full.send(batch).map_err(|_| Stopped::ReceiverClosed)
    }

    fn member(&mut self, path: &RelPath, kind: Kind<'_>, mtime: FileTime) -> Result<(), Stopped> {
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
            if self.batch.room() == 0 {
                self.hand_over()?;
            }
            bytes = self.batch.append(bytes);
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
            let length = wanted.min(self.batch.room());
            self.batch.contents(file, (size - left, length), name)?;
            left -= length as u64;
        }
        Ok(())
    }
}

impl Visitor for ReadStage<'_> {
    type Error = Stopped;

    fn dir(&mut self, path: &RelPath) -> Result<(), Stopped> {
        self.member(path, Kind::Dir, FileTime::default())?;
        self.batch.entry(path, Entry::Dir);
        Ok(())
    }

    fn symlink(
        &mut self,
        path: &RelPath,
        target: LinkTarget,
        mtime: FileTime,
    ) -> Result<(), Stopped> {
        self.member(path, Kind::Symlink { target: &target }, mtime)?;
        self.batch.entry(path, Entry::Symlink { target });
        Ok(())
    }

    fn file(
        &mut self,
        path: &RelPath,
        file: OwnedFd,
        stat: &Stat,
        check: KeyCheck,
    ) -> Result<(), Stopped> {
        let (mode, size) = (mode(stat), size(stat));
        let kind = Kind::File { mode, size };
        if check.looks_into(size) {
            // What may be taken out again is in one batch, its header too.
            let whole = size + (LONGEST_HEADER + BLOCK) as u64;
            if whole > self.batch.room() as u64 {
                self.hand_over()?;
            }
        }
        let start = self.batch.end_of_bytes();
        self.member(path, kind, mtime(path, stat))?;
        if size > self.batch.room() as u64 && size <= LARGEST_IN_ONE {
            self.hand_over()?;
        }
        let added = match usize::try_from(size) {
            Ok(length) if length <= self.batch.room() => {
                let header = start..self.batch.end_of_bytes();
                let stat = *stat;
                let unread = Unread {
                    file,
                    stat,
                    check,
                    header,
                };
                self.batch.file(path, unread, length)?
            }
            _ => {
                self.batch.begin(path, stat);
                self.contents(path.as_str().as_bytes(), &file, size)?;
                self.batch.end(file);
                Added::Yes
            }
        };
        if added == Added::Yes {
            self.append(&[0; BLOCK][..header::padding(size)])?;
        }
        match self.batch.has_files_enough() {
            true => self.hand_over(),
            false => Ok(()),
        }
    }

    fn made(&mut self, path: &RelPath, contents: &[u8]) -> Result<(), Stopped> {
        let size = contents.len() as u64;
        let kind = Kind::File {
            mode: Mode::Plain,
            size,
        };
        self.member(path, kind, FileTime::default())?;
        self.append(contents)?;
        self.append(&[0; BLOCK][..header::padding(size)])?;
        let entry = Entry::File {
            mode: Mode::Plain,
            size,
            digest: Digest::of(contents),
        };
        self.batch.entry(path, entry);
        Ok(())
    }
}
