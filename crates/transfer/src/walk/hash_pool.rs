//! Hashing files beside the walk.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};

use lazaret_tree::{Digest, Entry, RelPathBuf};
use rustix::fs::Stat;
use rustix::io::Errno;

use super::traverse::holds_key;
use super::visitor::KeyCheck;
use super::{WalkError, mode, size};
use crate::Skipped;
use crate::select::{LOOKED_INTO, holds_private_key};

/// Files that are handed over at once: one lock for several small files.
const BATCH: usize = 16;
/// Batches that may wait; with [`BATCH`] this bounds the open descriptors.
const WAITING: usize = 8;
/// Fits the second-level cache.
const CHUNK: usize = 64 << 10;

/// A file to be hashed.
struct Job {
    path: RelPathBuf,
    file: OwnedFd,
    stat: Stat,
    check: KeyCheck,
}

/// What became of the files.
#[derive(Debug, Default)]
pub(super) struct Hashes {
    pub(super) files: Vec<(RelPathBuf, Entry)>,
    /// Those that stay out for what they hold.
    pub(super) skipped: Vec<Skipped>,
}

/// What the threads share; outlives their scope.
#[derive(Debug, Default)]
pub(super) struct HashPool {
    jobs: Mutex<Option<Receiver<Vec<Job>>>>,
    failed: AtomicBool,
}

/// The threads.
pub(super) struct Workers<'scope> {
    jobs: Jobs<'scope>,
    threads: Vec<ScopedJoinHandle<'scope, Result<Hashes, WalkError>>>,
}

/// Where files are handed over.
pub(super) struct Jobs<'scope> {
    pool: &'scope HashPool,
    send: SyncSender<Vec<Job>>,
    batch: Vec<Job>,
}

impl HashPool {
    pub(super) fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        threads: std::num::NonZeroUsize,
    ) -> Workers<'scope> {
        let (send, receive) = sync_channel(WAITING);
        *self.jobs.lock().unwrap_or_else(PoisonError::into_inner) = Some(receive);
        let threads = (0..threads.get()).map(|_| scope.spawn(|| self.work()));
        Workers {
            threads: threads.collect(),
            jobs: Jobs {
                pool: self,
                send,
                batch: Vec::new(),
            },
        }
    }

    fn work(&self) -> Result<Hashes, WalkError> {
        let mut buffer = vec![0; CHUNK];
        let mut hashes = Ok(Hashes::default());
        while let Some(batch) = self.next() {
            for job in batch {
                // After a failure anywhere the rest is only taken off the walk's hands.
                let (Ok(done), false) = (&mut hashes, self.failed.load(Ordering::Relaxed)) else {
                    continue;
                };
                match hash_file(&job, &mut buffer) {
                    Ok(Some(digest)) => {
                        let (mode, size) = (mode(&job.stat), size(&job.stat));
                        done.files
                            .push((job.path, Entry::File { mode, size, digest }));
                    }
                    Ok(None) => done.skipped.push(holds_key(&job.path, &job.stat)),
                    Err(error) => {
                        self.failed.store(true, Ordering::Relaxed);
                        hashes = Err(error);
                    }
                }
            }
        }
        hashes
    }

    fn next(&self) -> Option<Vec<Job>> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.as_ref()?.recv().ok()
    }
}

impl<'scope> Workers<'scope> {
    /// Returns the one that goes with the threads.
    pub(super) fn jobs(&mut self) -> &mut Jobs<'scope> {
        &mut self.jobs
    }

    /// Waits for every hash.
    pub(super) fn finish(self) -> Result<Hashes, WalkError> {
        let rest = self.jobs.finish();
        let mut all = Hashes::default();
        let mut failed = None;
        for thread in self.threads {
            match thread.join() {
                Ok(Ok(mut hashes)) => {
                    all.files.append(&mut hashes.files);
                    all.skipped.append(&mut hashes.skipped);
                }
                Ok(Err(error)) => failed = failed.or(Some(error)),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        match failed {
            Some(error) => Err(error),
            None => rest.map(|()| all),
        }
    }
}

impl Jobs<'_> {
    /// Hands over what is left.
    pub(super) fn finish(mut self) -> Result<(), WalkError> {
        self.hand_over()
    }

    /// Takes an open file that is at its start. Fails when a thread has failed;
    /// [`Workers::finish`] tells at what.
    pub(super) fn hash(
        &mut self,
        path: RelPathBuf,
        file: OwnedFd,
        stat: Stat,
        check: KeyCheck,
    ) -> Result<(), WalkError> {
        self.batch.push(Job {
            path,
            file,
            stat,
            check,
        });
        match self.batch.len() {
            BATCH => self.hand_over(),
            _ => Ok(()),
        }
    }

    fn hand_over(&mut self) -> Result<(), WalkError> {
        let batch = std::mem::take(&mut self.batch);
        let canceled = || WalkError::io(b"", Errno::CANCELED);
        if self.pool.failed.load(Ordering::Relaxed) {
            return Err(canceled());
        }
        self.send.send(batch).map_err(|_| canceled())
    }
}

/// Hashes an open file that is at its start and has the size that its `stat` says; `None` for
/// one that holds a key.
fn hash_file(job: &Job, buffer: &mut [u8]) -> Result<Option<Digest>, WalkError> {
    const { assert!(LOOKED_INTO <= CHUNK) };
    let Job { file, stat, .. } = job;
    let name = job.path.as_str().as_bytes();
    let is_whole = job.check.looks_into(size(stat));
    let mut hasher = blake3::Hasher::new();
    let (mut left, mut filled) = (size(stat), 0);
    while left > 0 {
        // What is looked into is read into one piece.
        let free = &mut buffer[filled..];
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(free.len());
        match rustix::io::read(file, &mut free[..most]) {
            Ok(0) => {
                return Err(WalkError::Shrank {
                    name: name.to_vec(),
                });
            }
            Ok(length) => {
                hasher.update(&free[..length]);
                left -= length as u64;
                if is_whole {
                    filled += length;
                }
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(WalkError::io(name, errno)),
        }
    }
    check_unchanged(file, stat, name)?;
    match is_whole && holds_private_key(&buffer[..filled]) {
        true => Ok(None),
        false => Ok(Some(hasher.finalize().into())),
    }
}

/// Refuses a file that is not what it was when it was opened (FLT-04).
///
/// A store through a shared mapping of a page that was dirty before escapes this
/// (perf.md, section 3): the digest is of what was read, so it is merely older.
pub(crate) fn check_unchanged(
    file: impl AsFd,
    before: &Stat,
    name: &[u8],
) -> Result<(), WalkError> {
    let now = rustix::fs::fstat(file).map_err(|errno| WalkError::io(name, errno))?;
    let name = || name.to_vec();
    if now.st_size < before.st_size {
        return Err(WalkError::Shrank { name: name() });
    }
    if now.st_size > before.st_size {
        return Err(WalkError::Grew { name: name() });
    }
    let times = |stat: &Stat| (stat.st_mtime, stat.st_mtime_nsec);
    if times(&now) != times(before) {
        return Err(WalkError::Changed { name: name() });
    }
    Ok(())
}
