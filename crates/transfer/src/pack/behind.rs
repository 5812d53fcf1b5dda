//! `Behind`: the half of a pack that sends, hashes and checks.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, SyncSender};

use rustix::fs::Stat;

use super::ahead::{Batch, Step};
use super::header::BLOCK;
use super::{PackError, Progress};
use crate::checksum::Summing;
use crate::stat_cache::Seen;
use crate::walk::{check_unchanged, mode, size};
use crate::{Entry, RelPathBuf, StatRecorder, Trailer, Tree};

/// Takes batches in the order of the stream.
pub(super) struct Behind<'a, 'w> {
    out: &'a mut dyn Write,
    progress: &'a mut dyn FnMut(Progress),
    stats: Option<&'a mut StatRecorder<'w>>,
    so_far: Progress,
    sum: Summing,
    /// The file whose contents are arriving.
    current: Option<(RelPathBuf, Stat, blake3::Hasher)>,
    /// What was sent, in path order: a tree is made of it at once at the end.
    entries: Vec<(RelPathBuf, Entry)>,
}

impl<'a, 'w> Behind<'a, 'w> {
    pub(super) fn new(
        out: &'a mut dyn Write,
        progress: &'a mut dyn FnMut(Progress),
        stats: Option<&'a mut StatRecorder<'w>>,
    ) -> Self {
        Self {
            out,
            progress,
            stats,
            so_far: Progress::default(),
            sum: Summing::default(),
            current: None,
            entries: Vec::new(),
        }
    }

    /// Takes everything that comes; each batch goes back to be filled again.
    pub(super) fn take_all(
        &mut self,
        full: &Receiver<Batch>,
        empty: &SyncSender<Batch>,
    ) -> Result<(), PackError> {
        while let Ok(mut batch) = full.recv() {
            // First: the other side has work to do meanwhile.
            self.out
                .write_all(batch.bytes())
                .map_err(PackError::Write)?;
            self.sum.update(batch.bytes());
            for step in std::mem::take(&mut batch.steps) {
                self.step(step, batch.bytes())?;
            }
            batch.clear();
            // A walk that has ended needs it no more.
            drop(empty.send(batch));
        }
        Ok(())
    }

    fn step(&mut self, step: Step, bytes: &[u8]) -> Result<(), PackError> {
        match step {
            Step::Entry(path, entry) => {
                self.met();
                if let Entry::File { size, .. } = &entry {
                    self.so_far.bytes += size;
                }
                self.entries.push((path, entry));
            }
            Step::Begin(path, stat) => {
                self.met();
                self.current = Some((path, stat, blake3::Hasher::new()));
            }
            Step::Contents(start, end) => {
                let piece = bytes.get(start..end).unwrap_or_default();
                if let Some((_, _, hasher)) = &mut self.current {
                    hasher.update(piece);
                }
                self.so_far.bytes += piece.len() as u64;
                (self.progress)(self.so_far);
            }
            Step::End(file) => self.end(&file)?,
        }
        Ok(())
    }

    fn met(&mut self) {
        self.so_far.entries += 1;
        (self.progress)(self.so_far);
    }

    fn end(&mut self, file: &OwnedFd) -> Result<(), PackError> {
        let Some((path, stat, hasher)) = self.current.take() else {
            return Ok(());
        };
        check_unchanged(file, &stat, path.as_str().as_bytes())?;
        let digest = hasher.finalize().into();
        if let (Some(stats), Some(seen)) = (&mut self.stats, Seen::of(&stat)) {
            stats.record(&path, seen, &digest);
        }
        let (mode, size) = (mode(&stat), size(&stat));
        self.entries
            .push((path, Entry::File { mode, size, digest }));
        Ok(())
    }

    /// Ends the stream and returns what it held and what its trailer says.
    pub(super) fn finish(mut self) -> io::Result<(Tree, Trailer)> {
        let end = [0; 2 * BLOCK];
        self.sum.update(&end);
        let tree: Tree = self.entries.into_iter().collect();
        let trailer = Trailer {
            entries: tree.len() as u64,
            bytes: self.so_far.bytes,
            stream: self.sum.so_far(),
        };
        self.out.write_all(&end)?;
        self.out.write_all(&trailer.encode())?;
        self.out.flush()?;
        Ok((tree, trailer))
    }
}
