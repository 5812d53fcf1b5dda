//! `walk_cached`: a walk that reads only what a cache does not know.

use std::os::fd::OwnedFd;

use rustix::fs::Stat;

use super::engine::{Sink, descend};
use super::hash::{HashPool, Workers};
use super::{Hashing, WalkError, Walked, made};
use crate::stat_cache::{Search, Seen};
use crate::{
    Digest, Entry, LinkTarget, RelPath, RelPathBuf, Selector, StatCache, StatRecorder, Tree,
    WorkspaceDir,
};

/// Reads everything below `workspace` that `selector` takes in, as [`walk`](super::walk)
/// does, except that a file which `cache` knows as it is is not opened. What it finds is
/// handed to `recorder`, for the next time.
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
            seen: Vec::with_capacity(cache.len()),
            search: Search::new(cache),
            workers: pool.start(scope, threads),
        };
        let skipped = descend(workspace, selector, &mut sink);
        let Cached {
            entries,
            seen,
            workers,
            ..
        } = sink;
        // When a file has failed, that is the cause, and the walk only noticed.
        let files = workers.finish()?;
        let skipped = skipped?;
        let tree: Tree = entries.into_iter().chain(files).collect();
        for (path, seen, digest) in seen {
            let digest = digest.or_else(|| match tree.get(&path) {
                Some(Entry::File { digest, .. }) => Some(*digest),
                _ => None,
            });
            if let Some(digest) = digest {
                recorder.record(&path, seen, &digest);
            }
        }
        Ok(Walked { tree, skipped })
    })
}

struct Cached<'a, 'scope> {
    entries: Vec<(RelPathBuf, Entry)>,
    /// Every file, and its digest where that was known.
    seen: Vec<(RelPathBuf, Seen, Option<Digest>)>,
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
        let Some((seen, digest)) = self.search.find(path, stat)? else {
            return Ok(false);
        };
        let entry = seen.entry(digest);
        self.entries.push((path.to_owned(), entry));
        self.seen.push((path.to_owned(), seen, Some(digest)));
        Ok(true)
    }

    fn file(&mut self, path: &RelPath, file: OwnedFd, stat: &Stat) -> Result<(), WalkError> {
        if let Some(seen) = Seen::of(stat) {
            self.seen.push((path.to_owned(), seen, None));
        }
        self.workers.hash(path.to_owned(), file, *stat)
    }

    fn made(&mut self, path: &RelPath, contents: &[u8]) -> Result<(), WalkError> {
        self.entries.push((path.to_owned(), made(contents)));
        Ok(())
    }
}
