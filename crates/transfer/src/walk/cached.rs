//! `walk_cached`: a walk that reads only what a cache does not know.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::panic::resume_unwind;

use lazaret_protocol::FileTime;
use lazaret_tree::{Entry, LinkTarget, RelPath, RelPathBuf, Tree};
use rustix::fs::{AtFlags, Stat};

use super::dir_cursor::DirCursor;
use super::hash_pool::{HashPool, Jobs, Workers};
use super::known_files::{is_cacheable, stat_known_files};
use super::open::{OpenDir, OpenError};
use super::traverse::{Traversed, in_order, size, traverse};
use super::visitor::{KeyCheck, Visitor};
use super::{Hashing, WalkError, Walked, made};
use crate::stat_cache::{CacheCursor, CacheEntry, StatKey};
use crate::{FileSelector, SkipReason, Skipped, StatCache, StatCacheWriter, WorkspaceDir};

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
    let Hashing::Contents(threads) = Hashing::parallel() else {
        unreachable!("parallel hashing reads contents");
    };
    let pool = HashPool::default();
    std::thread::scope(|scope| {
        let known_files = scope.spawn(|| stat_known_files(workspace, cache.known()));
        let mut visitor = Cached {
            found: Vec::new(),
            read: Vec::new(),
            cache_cursor: CacheCursor::new(cache),
            workers: pool.start(scope, threads),
        };
        let traversed = traverse(workspace, selector, &mut visitor);
        let is_same = known_files
            .join()
            .unwrap_or_else(|panic| resume_unwind(panic));
        let changed = match &traversed {
            Ok(_) => visitor.read_changed(workspace, cache, &is_same),
            Err(_) => Ok(Vec::new()),
        };
        let Cached {
            found,
            read,
            workers,
            ..
        } = visitor;
        // When a file has failed, that is the cause, and the others only noticed.
        let files = workers.finish()?;
        let Traversed { skipped, tips } = traversed?;
        let mut elsewhere = changed?;
        elsewhere.extend(files.skipped);
        let skipped = in_order(skipped, elsewhere);
        let known = cache.known();
        let as_known = |number: usize| {
            let known = &known[number];
            (is_same[number] || !is_cacheable(&known.path)).then_some(known)
        };
        let entries = found.iter().filter_map(|found| match found {
            Found::Entry(path, entry) => Some((path.clone(), entry.clone())),
            Found::Known(number, _) => {
                let CacheEntry { path, key, digest } = as_known(*number)?;
                Some((path.clone(), key.entry(*digest)))
            }
        });
        let tree: Tree = entries.chain(files.files).collect();
        let lacking = read.iter().map(|(_, key)| key.size() + OPENING);
        if lacking.sum::<u64>() < cache.cost() {
            recorder.leave();
            return Ok(Walked {
                tree,
                skipped,
                tips,
            });
        }
        let old = found.iter().filter_map(|found| match found {
            Found::Entry(..) => None,
            Found::Known(number, _) => {
                as_known(*number).map(|known| (&known.path, known.key, &known.digest))
            }
        });
        let new = read.iter().filter_map(|(path, key)| match tree.get(path) {
            Some(Entry::File { digest, .. }) => Some((path, *key, digest)),
            _ => None,
        });
        let mut files: Vec<_> = old.chain(new).collect();
        files.sort_by_key(|(path, ..)| *path);
        for (path, key, digest) in files {
            recorder.record(path, key, digest);
        }
        Ok(Walked {
            tree,
            skipped,
            tips,
        })
    })
}

/// What the walk met.
enum Found {
    Entry(RelPathBuf, Entry),
    /// A file that the cache knows under this number, and may know as it is.
    Known(usize, KeyCheck),
}

struct Cached<'a, 'scope> {
    /// Everything but the files that are read, in path order.
    found: Vec<Found>,
    /// Files that are read.
    read: Vec<(RelPathBuf, StatKey)>,
    cache_cursor: CacheCursor<'a>,
    workers: Workers<'scope>,
}

impl Cached<'_, '_> {
    /// Reads the files that the walk met and that are not as the cache knows them. Returns
    /// those that lie on another file system.
    fn read_changed(
        &mut self,
        workspace: &WorkspaceDir,
        cache: &StatCache,
        is_same: &[bool],
    ) -> Result<Vec<Skipped>, WalkError> {
        let known = cache.known();
        let changed = self.found.iter().filter_map(|found| match found {
            Found::Known(number, check)
                if is_cacheable(&known[*number].path) && !is_same[*number] =>
            {
                Some((&*known[*number].path, *check))
            }
            Found::Known(..) | Found::Entry(..) => None,
        });
        let mut changed = changed.peekable();
        let mut skipped = Vec::new();
        if changed.peek().is_none() {
            return Ok(skipped);
        }
        let failed = |name: &[u8], error| match error {
            OpenError::Errno(errno) => WalkError::io(name, errno),
            OpenError::Mount => WalkError::Changed {
                name: name.to_vec(),
            },
        };
        let mut cursor = DirCursor::open(workspace).map_err(|error| failed(b"", error))?;
        for (path, check) in changed {
            let raw = path.as_str().as_bytes();
            let dir = cursor.parent_of(path).map_err(|error| failed(raw, error))?;
            let name = CString::new(path.file_name());
            let name = name.map_err(|error| WalkError::io(raw, error))?;
            match dir.open_file(&name, path)? {
                Some((file, stat)) => {
                    let (reads, jobs) = (&mut self.read, self.workers.jobs());
                    read(reads, jobs, path, (file, &stat), check)?;
                }
                None => skipped.push(Skipped {
                    name: raw.to_vec(),
                    reason: SkipReason::Mount,
                    bytes: rustix::fs::statat(dir.fd(), &*name, AtFlags::SYMLINK_NOFOLLOW)
                        .ok()
                        .map(|stat| size(&stat)),
                }),
            }
        }
        Ok(skipped)
    }
}

/// Has a file hashed.
fn read(
    reads: &mut Vec<(RelPathBuf, StatKey)>,
    jobs: &mut Jobs<'_>,
    path: &RelPath,
    (file, stat): (OwnedFd, &Stat),
    check: KeyCheck,
) -> Result<(), WalkError> {
    let path = path.to_owned();
    if let Some(key) = StatKey::of(stat) {
        reads.push((path.clone(), key));
    }
    jobs.hash(path, file, *stat, check)
}

impl Visitor for Cached<'_, '_> {
    type Error = WalkError;

    fn dir(&mut self, path: &RelPath) -> Result<(), WalkError> {
        self.found.push(Found::Entry(path.to_owned(), Entry::Dir));
        Ok(())
    }

    fn symlink(
        &mut self,
        path: &RelPath,
        target: LinkTarget,
        _: FileTime,
    ) -> Result<(), WalkError> {
        let entry = Entry::Symlink { target };
        self.found.push(Found::Entry(path.to_owned(), entry));
        Ok(())
    }

    fn takes(&mut self, path: &RelPath, dir: &OpenDir, check: KeyCheck) -> Result<bool, WalkError> {
        let Some((number, known)) = self.cache_cursor.find(path) else {
            return Ok(false);
        };
        if !is_cacheable(path) {
            let stat = rustix::fs::statat(dir.fd(), path.file_name(), AtFlags::SYMLINK_NOFOLLOW);
            let is_same = stat.is_ok_and(|stat| StatKey::of(&stat) == Some(known.key));
            if !is_same {
                return Ok(false);
            }
        }
        self.found.push(Found::Known(number, check));
        Ok(true)
    }

    fn file(
        &mut self,
        path: &RelPath,
        file: OwnedFd,
        stat: &Stat,
        check: KeyCheck,
    ) -> Result<(), WalkError> {
        let (reads, jobs) = (&mut self.read, self.workers.jobs());
        read(reads, jobs, path, (file, stat), check)
    }

    fn made(&mut self, path: &RelPath, contents: &[u8]) -> Result<(), WalkError> {
        let entry = made(contents);
        self.found.push(Found::Entry(path.to_owned(), entry));
        Ok(())
    }
}
