//! `stat_known_files`: whether known files are as they were, found out beside the walk that lists them.
//!
//! Neither waits for the other. Two threads that hand work over wake each other all the time,
//! and where there are two processors the kernel likes to wake a thread where it was woken
//! from: then both share one.

use lazaret_tree::{RelPath, is_git};
use rustix::fs::AtFlags;

use super::dir_cursor::DirCursor;
use crate::WorkspaceDir;
use crate::stat_cache::{CacheEntry, StatKey};

/// Whether `stat_known_files` says anything of `path`: the repository at the root may lie elsewhere.
pub(super) fn is_cacheable(path: &RelPath) -> bool {
    !is_git(path)
}

/// Says of each of `known`, in path order, whether it lies in its place and is as it was.
pub(super) fn stat_known_files(workspace: &WorkspaceDir, known: &[CacheEntry]) -> Vec<bool> {
    // Whatever is in the way is for the walk to find.
    let Ok(mut cursor) = DirCursor::open(workspace) else {
        return vec![false; known.len()];
    };
    let mut is_same = |known: &CacheEntry| {
        let path = &*known.path;
        let dir = cursor.parent_of(path).ok()?;
        let stat = rustix::fs::statat(dir.fd(), path.file_name(), AtFlags::SYMLINK_NOFOLLOW);
        Some(StatKey::of(&stat.ok()?) == Some(known.key))
    };
    let known = known.iter();
    known
        .map(|known| is_cacheable(&known.path) && is_same(known) == Some(true))
        .collect()
}
