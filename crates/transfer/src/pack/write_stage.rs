//! `WriteStage`: the half of a pack that sends, hashes and checks.

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use lazaret_protocol::stream::header::BLOCK;
use lazaret_protocol::{ChecksumBuilder, ManifestWriter, Trailer};
use lazaret_tree::{Digest, Entry, Paths, RelPath, RelPathBuf};
use rustix::fs::Stat;

use super::batch::{Batch, Reader, Step};
use super::{PackError, Progress};
use crate::stat_cache::StatKey;
use crate::walk::{check_unchanged, holds_key, mode, size};
use crate::{Skipped, StatCacheWriter, WalkError};

/// Takes batches in the order of the stream.
pub(super) struct WriteStage<'a, 'w> {
    out: &'a mut dyn Write,
    progress: &'a mut dyn FnMut(Progress),
    stats: Option<&'a mut StatCacheWriter<'w>>,
    manifest: ManifestWriter<'a>,
    so_far: Progress,
    sum: ChecksumBuilder,
    /// The file whose contents are arriving.
    current: Option<(RelPathBuf, Stat)>,
    /// Of what has arrived of it.
    hasher: blake3::Hasher,
    /// What stays out for what it holds.
    skipped: Vec<Skipped>,
}

impl<'a, 'w> WriteStage<'a, 'w> {
    pub(super) fn new(
        out: &'a mut dyn Write,
        progress: &'a mut dyn FnMut(Progress),
        stats: Option<&'a mut StatCacheWriter<'w>>,
        manifest: ManifestWriter<'a>,
    ) -> Self {
        Self {
            out,
            progress,
            stats,
            manifest,
            so_far: Progress::default(),
            sum: ChecksumBuilder::default(),
            current: None,
            hasher: blake3::Hasher::new(),
            skipped: Vec::new(),
        }
    }

    /// Takes everything that comes; each batch goes back to be filled again.
    pub(super) fn take_all(
        &mut self,
        full: &Receiver<Batch>,
        empty: &SyncSender<Batch>,
        left: &AtomicUsize,
    ) -> Result<(), PackError> {
        while let Ok(mut batch) = full.recv() {
            let bytes = batch.complete()?;
            // First: the other side has work to do meanwhile.
            self.out.write_all(bytes).map_err(PackError::Write)?;
            batch.add_to(&mut self.sum);
            batch.take(|step, paths, bytes| self.step(step, paths, bytes))?;
            if batch.reader() == Reader::WriteStage {
                left.fetch_sub(1, Ordering::Relaxed);
            }
            (self.progress)(self.so_far);
            // A walk that has ended needs it no more.
            drop(empty.send(batch));
        }
        Ok(())
    }

    fn step(&mut self, step: Step, paths: &Paths, bytes: &[u8]) -> Result<(), PackError> {
        match step {
            Step::Entry(path, entry) => {
                if let Entry::File { size, .. } = &entry {
                    self.so_far.bytes += size;
                }
                self.keep(&paths[path], &entry)
            }
            Step::Read(path, stat, digest) => {
                self.so_far.bytes += size(&stat);
                self.file(&paths[path], &stat, digest)
            }
            Step::Kept(path, stat) => {
                self.skipped.push(holds_key(&paths[path], &stat));
                Ok(())
            }
            Step::Deferred(path, ..) => {
                let name = paths[path].as_str().as_bytes();
                let error = io::Error::other("was not read: the batch is not complete");
                Err(WalkError::io(name, error).into())
            }
            Step::Begin(path, stat) => {
                self.current = Some((paths[path].to_owned(), stat));
                self.hasher.reset();
                Ok(())
            }
            Step::Contents(contents) => {
                self.so_far.bytes += contents.len() as u64;
                self.hasher.update(&bytes[contents]);
                Ok(())
            }
            Step::End(file) => match self.current.take() {
                None => Ok(()),
                Some((path, stat)) => {
                    check_unchanged(&file, &stat, path.as_str().as_bytes())?;
                    let digest = self.hasher.finalize().into();
                    self.file(&path, &stat, digest)
                }
            },
        }
    }

    fn file(&mut self, path: &RelPath, stat: &Stat, digest: Digest) -> Result<(), PackError> {
        if let (Some(stats), Some(key)) = (&mut self.stats, StatKey::of(stat)) {
            stats.record(path, key, &digest);
        }
        let (mode, size) = (mode(stat), size(stat));
        self.keep(path, &Entry::File { mode, size, digest })
    }

    fn keep(&mut self, path: &RelPath, entry: &Entry) -> Result<(), PackError> {
        self.so_far.entries += 1;
        self.manifest.add(path, entry).map_err(PackError::Write)
    }

    /// Takes what stays out for what it holds, in path order.
    pub(super) fn take_skipped(&mut self) -> Vec<Skipped> {
        std::mem::take(&mut self.skipped)
    }

    /// Ends the stream and returns what its trailer says; the manifest is complete then.
    pub(super) fn finish(mut self) -> io::Result<Trailer> {
        let end = [0; 2 * BLOCK];
        self.sum.update(&end);
        let trailer = Trailer {
            entries: self.so_far.entries,
            bytes: self.so_far.bytes,
            stream: self.sum.so_far(),
        };
        self.out.write_all(&end)?;
        self.out.write_all(&trailer.encode())?;
        self.out.flush()?;
        self.manifest.finish()?;
        Ok(trailer)
    }
}
