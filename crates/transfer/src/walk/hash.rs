//! Hashing files beside the walk.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};

use rustix::fs::Stat;
use rustix::io::Errno;

use super::{WalkError, mode, size};
use crate::{Digest, Entry, RelPathBuf};

/// Files that are handed over at once: one lock for several small files.
const BATCH: usize = 16;
/// Batches that may wait; with [`BATCH`] this bounds the open descriptors.
const WAITING: usize = 8;
/// Fits the second-level cache.
const CHUNK: usize = 64 << 10;

type Job = (RelPathBuf, OwnedFd, Stat);
type Hashes = Result<Vec<(RelPathBuf, Entry)>, WalkError>;

/// What the threads share; outlives their scope.
#[derive(Debug, Default)]
pub(super) struct HashPool {
    jobs: Mutex<Option<Receiver<Vec<Job>>>>,
    failed: AtomicBool,
}

/// The threads.
pub(super) struct Workers<'scope> {
    jobs: Jobs<'scope>,
    threads: Vec<ScopedJoinHandle<'scope, Hashes>>,
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

    fn work(&self) -> Hashes {
        let mut buffer = vec![0; CHUNK];
        let mut hashes = Ok(Vec::new());
        while let Some(batch) = self.next() {
            for (path, file, stat) in batch {
                // After a failure anywhere the rest is only taken off the walk's hands.
                let (Ok(done), false) = (&mut hashes, self.failed.load(Ordering::Relaxed)) else {
                    continue;
                };
                match hash_file(&file, &stat, path.as_str().as_bytes(), &mut buffer) {
                    Ok(digest) => {
                        let (mode, size) = (mode(&stat), size(&stat));
                        done.push((path, Entry::File { mode, size, digest }));
                    }
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
    pub(super) fn finish(self) -> Hashes {
        let rest = self.jobs.finish();
        let mut all = Vec::new();
        let mut failed = None;
        for thread in self.threads {
            match thread.join() {
                Ok(Ok(mut hashes)) => all.append(&mut hashes),
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
    ) -> Result<(), WalkError> {
        self.batch.push((path, file, stat));
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

/// Hashes an open file that is at its start and has the size that `stat` says.
fn hash_file(
    file: &OwnedFd,
    stat: &Stat,
    name: &[u8],
    buffer: &mut [u8],
) -> Result<Digest, WalkError> {
    let mut hasher = blake3::Hasher::new();
    let mut left = size(stat);
    while left > 0 {
        let most = usize::try_from(left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        match rustix::io::read(file, &mut buffer[..most]) {
            Ok(0) => {
                return Err(WalkError::Shrank {
                    name: name.to_vec(),
                });
            }
            Ok(length) => {
                hasher.update(&buffer[..length]);
                left -= length as u64;
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(WalkError::io(name, errno)),
        }
    }
    check_unchanged(file, stat, name)?;
    Ok(hasher.finalize().into())
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
