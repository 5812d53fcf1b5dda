//! `walk_cached`: a walk that reads only what a cache does not know.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use rustix::fs::Stat;

use super::engine::{Sink, by_component, descend};
use super::hash::{HashPool, Jobs};
use super::look::{BUNDLES, Bundling, Look, Looked, Met};
use super::open::OpenDir;
use super::{Hashing, WalkError, Walked, made};
use crate::stat_cache::{Known, Search, Seen};
use crate::{
    Entry, LinkTarget, RelPath, RelPathBuf, Selector, StatCache, StatRecorder, Tree, WorkspaceDir,
};

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
        let mut workers = pool.start(scope, threads);
        let (send, bundles) = sync_channel(BUNDLES);
        let look = Look::new(workers.jobs().another());
        let looking = scope.spawn(move || look.run(bundles));
        let mut sink = Cached {
            entries: Vec::new(),
            own: Looked::default(),
            search: Search::new(cache),
            bundling: Bundling::new(send),
            jobs: workers.jobs(),
        };
        let skipped = descend(workspace, selector, &mut sink);
        let Cached {
            entries,
            own,
            bundling,
            ..
        } = sink;
        let rest = bundling.finish();
        let looked = (looking.join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        // When a file has failed, that is the cause, and the others only noticed.
        let files = workers.finish()?;
        let looked = looked?;
        let mut skipped = skipped?;
        rest?;
        if !looked.skipped.is_empty() {
            skipped.extend(looked.skipped);
            skipped.sort_by(|one, other| by_component(&one.name, &other.name));
        }
        let tree: Tree = (entries.into_iter())
            .chain(looked.entries)
            .chain(files)
            .collect();
        if own.lacking + looked.lacking < cache.cost() {
            recorder.leave();
            return Ok(Walked { tree, skipped });
        }
        let mut met: Vec<Met<'_>> = own.met.into_iter().chain(looked.met).collect();
        met.sort_by(|one, other| one.path().cmp(other.path()));
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

struct Cached<'a, 's, 'scope> {
    /// What is no file.
    entries: Vec<(RelPathBuf, Entry)>,
    /// The files that the cache has nothing of.
    own: Looked<'a>,
    search: Search<'a>,
    bundling: Bundling<'a>,
    jobs: &'s mut Jobs<'scope>,
}

impl Sink for Cached<'_, '_, '_> {
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

    fn takes(&mut self, path: &RelPath, dir: &Arc<OpenDir>) -> Result<bool, WalkError> {
        match self.search.find(path) {
            Some(known) => self.bundling.add(known, dir).map(|()| true),
            None => Ok(false),
        }
    }

    fn file(&mut self, path: &RelPath, file: OwnedFd, stat: &Stat) -> Result<(), WalkError> {
        let path = path.to_owned();
        if let Some(seen) = Seen::of(stat) {
            self.own.read(path.clone(), seen);
        }
        self.jobs.hash(path, file, *stat)
    }

    fn made(&mut self, path: &RelPath, contents: &[u8]) -> Result<(), WalkError> {
        self.entries.push((path.to_owned(), made(contents)));
        Ok(())
    }
}
