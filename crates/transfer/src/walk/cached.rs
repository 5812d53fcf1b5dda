//! `walk_cached`: a walk that reads only what a cache does not know.

use lazaret_tree::Entry;

use super::tree_builder::{BuildOptions, BuiltTree, build_tree};
use super::{WalkError, Walked, hash_threads};
use crate::stat_cache::CacheEntry;
use crate::{FileSelector, StatCache, StatCacheWriter, WorkspaceDir};

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
    selector: &FileSelector,
    cache: &StatCache,
    recorder: &mut StatCacheWriter<'_>,
) -> Result<Walked, WalkError> {
    let options = BuildOptions {
        threads: Some(hash_threads()),
        cache: Some(cache),
        limiter: None,
    };
    let built = build_tree(workspace, selector, options)?;
    let lacking = built.read.iter().map(|(_, key)| key.size() + OPENING);
    match lacking.sum::<u64>() < cache.cost() {
        true => recorder.leave(),
        false => record(&built, cache, recorder),
    }
    Ok(built.into())
}

/// Records the files that were read, and those that need not be.
fn record(built: &BuiltTree, cache: &StatCache, recorder: &mut StatCacheWriter<'_>) {
    let known = cache.known();
    let old = built.reused.iter().map(|number| {
        let CacheEntry { path, key, digest } = &known[*number];
        (path, *key, digest)
    });
    let new = built
        .read
        .iter()
        .filter_map(|(path, key)| match built.tree.get(path) {
            Some(Entry::File { digest, .. }) => Some((path, *key, digest)),
            _ => None,
        });
    let mut files: Vec<_> = old.chain(new).collect();
    files.sort_by_key(|(path, ..)| *path);
    for (path, key, digest) in files {
        recorder.record(path, key, digest);
    }
}
