//! `walk_cached`: a walk that reads only what a cache does not know.

use std::os::fd::OwnedFd;

use rustix::fs::Stat;

use super::engine::{Sink, descend};
use super::hash::{HashPool, Workers};
use super::{Hashing, WalkError, Walked, made};
use crate::stat_cache::{Known, Search, Seen};
use crate::{
    Entry, LinkTarget, RelPath, RelPathBuf, Selector, StatCache, StatRecorder, Tree, WorkspaceDir,
};

/// What opening a file costs, in bytes that could be read instead.
const OPENING: u64 = 4 << 10;

/// Reads everything below `workspace` that `selector` takes in, as [`walk`](super::walk)
/// does, except that a file which `cache` knows as it is is not opened. What it finds is
/// handed to `recorder` for the next time, unless `cache` will do as well.
///
/// Files that decide what is taken in (ignore files, cache tags, what may be a secret) are
/// read each time.
///
/// # Errors
/// The first entry that cannot be read, or that changes while it is read.
pub fn walk_cached(
    workspace: &WorkspaceDir,
    selector: &Selector,
    cache: &StatCache,
    recorder: &mut StatRecorder<'_>,
) -> Result<Walked, WalkError> {
    let Hashing::Contents(threads) = Hashing::parallel() else {
        unreachable!("parallel hashing reads contents");
    };
    let pool = HashPool::default();
    std::thread::scope(|scope| {
        let mut sink = Cached {
            entries: Vec::with_capacity(cache.len()),
            met: Vec::with_capacity(cache.len()),
            lacking: 0,
            search: Search::new(cache),
            workers: pool.start(scope, threads),
        };
        let skipped = descend(workspace, selector, &mut sink);
        let Cached {
            entries,
            met,
            lacking,
            workers,
            ..
        } = sink;
        // When a file has failed, that is the cause, and the walk only noticed.
        let files = workers.finish()?;
        let skipped = skipped?;
        let tree: Tree = entries.into_iter().chain(files).collect();
        if lacking < cache.cost() {
            recorder.leave();
            return Ok(Walked { tree, skipped });
        }
        for met in met {
            match met {
                Met::Known(Known { path, seen, digest }) => recorder.record(path, *seen, digest),
                Met::Read(file) => {
                    if let Some(Entry::File { digest, .. }) = tree.get(&file.0) {
                        recorder.record(&file.0, file.1, digest);
                    }
                }
            }
        }
        Ok(Walked { tree, skipped })
    })
}

/// A file, in the order of the walk.
enum Met<'a> {
    Known(&'a Known),
    Read(Box<(RelPathBuf, Seen)>),
}

struct Cached<'a, 'scope> {
    entries: Vec<(RelPathBuf, Entry)>,
    met: Vec<Met<'a>>,
    /// What reading again costs that the cache does not know.
    lacking: u64,
    search: Search<'a>,
    workers: Workers<'scope>,
}

impl Sink for Cached<'_, '_> {
    type Error = WalkError;

    fn dir(&mut self, path: &RelPath, _: i64) -> Result<(), WalkError> {
        self.entries.push((path.to_owned(), Entry::Dir));
        Ok(())
    }

    fn symlink(&mut self, path: &RelPath, target: LinkTarget, _: i64) -> Result<(), WalkError> {
        self.entries
            .push((path.to_owned(), Entry::Symlink { target }));
        Ok(())
    }

    fn knows(
        &mut self,
        path: &RelPath,
        stat: &mut dyn FnMut() -> Result<Stat, WalkError>,
    ) -> Result<bool, WalkError> {
        let Some(known) = self.search.find(path, stat)? else {
            return Ok(false);
        };
        let entry = known.seen.entry(known.digest);
        // The text is shared.
        self.entries.push((known.path.clone(), entry));
        self.met.push(Met::Known(known));
        Ok(true)
    }

    fn file(&mut self, path: &RelPath, file: OwnedFd, stat: &Stat) -> Result<(), WalkError> {
        let path = path.to_owned();
        if let Some(seen) = Seen::of(stat) {
            self.lacking += seen.size() + OPENING;
            self.met.push(Met::Read(Box::new((path.clone(), seen))));
        }
        self.workers.hash(path, file, *stat)
    }

    fn made(&mut self, path: &RelPath, contents: &[u8]) -> Result<(), WalkError> {
        self.entries.push((path.to_owned(), made(contents)));
        Ok(())
    }
}
