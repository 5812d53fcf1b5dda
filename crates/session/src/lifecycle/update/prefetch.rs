//! `Prefetch`: what an update goes by, read before its porter answers.

use std::fs::File;
use std::io::BufReader;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use lazaret_transfer::{StatCache, StatCacheOutcome, StatCacheWriter, Walked, walk_cached};

use super::error::UpdateError;
use crate::spec::Source;
use crate::store::SessionDir;
use crate::store::deferred_sync::DeferredSync;
use crate::store::sync_state::PrefetchedState;

/// A workspace, read.
#[derive(Debug)]
pub(crate) struct Scanned {
    pub(crate) walked: Walked,
    /// What was known of it before.
    pub(super) cache: StatCache,
    pub(super) took: Duration,
}

/// Reads the workspace for an update: of files that are as they were the last time, nothing.
///
/// # Errors
/// A file that can't be read or changes meanwhile (FLT-04), or the disk's.
pub(crate) fn scan(dir: &SessionDir, source: Source<'_>) -> Result<Scanned, UpdateError> {
    let started = Instant::now();
    let path = dir.file("stat-cache");
    // Without it everything is read.
    let cache = File::open(&path)
        .ok()
        .and_then(|file| StatCache::read_from(&mut BufReader::new(file)).ok())
        .unwrap_or_default();
    let mut next = Vec::new();
    let mut recorder = StatCacheWriter::new(source.dir, &mut next);
    let walked = walk_cached(source.dir, source.selector, &cache, &mut recorder)?;
    if let Ok(StatCacheOutcome::Written) = recorder.finish() {
        // One that a power cut takes is made again.
        let mut deferred = DeferredSync::default();
        deferred.put(&path, |out| out.write_all(&next))?;
    }
    let took = started.elapsed();
    Ok(Scanned {
        walked,
        cache,
        took,
    })
}

/// What an update goes by, read before its porter answers: the workspace, and what is known of
/// the volume.
#[derive(Debug)]
pub struct Prefetch<'scope> {
    pub(super) scanned: Deferred<'scope, Scanned>,
    pub(super) state: Deferred<'scope, PrefetchedState>,
}

/// What is read before it is needed.
#[derive(Debug)]
pub(super) enum Deferred<'scope, T> {
    Done(Result<T, UpdateError>),
    Going(ScopedJoinHandle<'scope, Result<T, UpdateError>>),
}

impl<'scope> Prefetch<'scope> {
    /// Begins to read.
    pub fn begin<'env>(
        scope: &'scope Scope<'scope, 'env>,
        dir: &'env SessionDir,
        source: Source<'env>,
    ) -> Self {
        Self {
            scanned: Deferred::Going(scope.spawn(move || scan(dir, source))),
            state: Deferred::Going(scope.spawn(|| Ok(PrefetchedState::of(dir)?))),
        }
    }
}

impl Prefetch<'static> {
    /// Reads all of it.
    ///
    /// # Errors
    /// A file that can't be read or changes meanwhile (FLT-04), or the disk's.
    pub(crate) fn whole(dir: &SessionDir, source: Source<'_>) -> Result<Self, UpdateError> {
        thread::scope(|scope| {
            let Prefetch { scanned, state } = Prefetch::begin(scope, dir, source);
            let state = Deferred::Done(state.finish());
            let scanned = Deferred::Done(Ok(scanned.finish()?));
            Ok(Self { scanned, state })
        })
    }
}

impl<T> Deferred<'_, T> {
    pub(super) fn finish(self) -> Result<T, UpdateError> {
        match self {
            Self::Done(done) => done,
            Self::Going(thread) => (thread.join()).unwrap_or(Err(UpdateError::Panicked)),
        }
    }
}
