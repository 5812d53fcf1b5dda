//! `build_tree`: the tree of what a walk finds, with contents read as [`BuildOptions`] say.

use std::ffi::CString;
use std::fs::File;
use std::io::Read as _;
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::panic::resume_unwind;

use lazaret_protocol::FileTime;
use lazaret_tree::{
    Adjustment, Digest, Entry, LinkTarget, Mode, RelPath, RelPathBuf, Tree, finding_code,
};
use rustix::fs::{AtFlags, Stat};

use super::dir_cursor::DirCursor;
use super::hash_pool::{HashPool, Hashes, Workers};
use super::known_files::{is_cacheable, stat_known_files};
use super::limiter::Limiter;
use super::open::{OpenDir, OpenError};
use super::traverse::{Traversed, holds_key, in_order, size, traverse};
use super::visitor::{KeyCheck, Visitor};
use super::{WalkError, mode};
use crate::select::{LOOKED_INTO, holds_private_key};
use crate::stat_cache::{CacheCursor, CacheEntry, StatKey};
use crate::{FileSelector, SkipReason, Skipped, StatCache, Tips, WorkspaceDir};

/// How a tree is built.
#[derive(Debug, Default)]
pub(super) struct BuildOptions<'a> {
    /// How many threads hash contents. `None` reads only files that may hold a key, and every
    /// digest is that of the empty file.
    pub(super) threads: Option<NonZeroUsize>,
    /// Files that are not opened if they are as the cache knows them.
    pub(super) cache: Option<&'a StatCache>,
    /// What a hostile directory may cost.
    pub(super) limiter: Option<Limiter<'a>>,
}

/// What was built.
#[derive(Debug)]
pub(super) struct BuiltTree {
    pub(super) tree: Tree,
    /// What stays out, in path order.
    pub(super) skipped: Vec<Skipped>,
    pub(super) tips: Tips,
    /// Files with mode bits that are not carried.
    pub(super) notes: Vec<Adjustment>,
    /// Numbers of the cache's entries that still hold, in path order.
    pub(super) reused: Vec<usize>,
    /// Files that were read although there is a cache.
    pub(super) read: Vec<(RelPathBuf, StatKey)>,
}

/// Builds the tree of everything below `workspace` that `selector` takes in.
///
/// # Errors
/// A limit, or the first entry that cannot be read or that changes while it is read.
pub(super) fn build_tree(
    workspace: &WorkspaceDir,
    selector: &FileSelector,
    options: BuildOptions<'_>,
) -> Result<BuiltTree, WalkError> {
    let pool = HashPool::default();
    let known = options.cache.map(StatCache::known).unwrap_or_default();
    std::thread::scope(|scope| {
        let stats = match known.is_empty() {
            true => None,
            false => Some(scope.spawn(|| stat_known_files(workspace, known))),
        };
        let workers = options.threads.map(|threads| pool.start(scope, threads));
        let mut builder = TreeBuilder {
            found: Vec::new(),
            skipped: Vec::new(),
            notes: Vec::new(),
            limiter: options.limiter,
            cache: options.cache.map(CacheCursor::new),
            read: Vec::new(),
            workers,
        };
        let traversed = traverse(workspace, selector, &mut builder);
        let unchanged = stats.map_or_else(Vec::new, |stats| {
            stats.join().unwrap_or_else(|panic| resume_unwind(panic))
        });
        let is_reused = |number: usize| unchanged[number] || !is_cacheable(&known[number].path);
        let changed = match &traversed {
            Ok(_) => builder.read_changed(workspace, known, &is_reused),
            Err(_) => Ok(()),
        };
        let hashes = builder.workers.take().map(Workers::finish);
        let hashes = hashes.unwrap_or_else(|| Ok(Hashes::default()));
        // A limit is the cause of all that follows; a file that failed is that of the walk.
        let traversed = match traversed {
            Err(error @ WalkError::Limit(_)) => return Err(error),
            other => other,
        };
        let hashes = hashes?;
        let Traversed { skipped, tips } = traversed?;
        changed?;
        let TreeBuilder {
            found,
            skipped: mut late,
            notes,
            read,
            ..
        } = builder;
        late.extend(hashes.skipped);
        let mut reused = Vec::new();
        let mut entries = Vec::with_capacity(found.len() + hashes.files.len());
        for found in found {
            match found {
                Found::Entry(path, entry) => entries.push((path, entry)),
                Found::Cached(number, _) if is_reused(number) => {
                    let CacheEntry { path, key, digest } = &known[number];
                    entries.push((path.clone(), key.entry(*digest)));
                    reused.push(number);
                }
                Found::Cached(..) => {}
            }
        }
        Ok(BuiltTree {
            tree: entries.into_iter().chain(hashes.files).collect(),
            skipped: in_order(skipped, late),
            tips,
            notes,
            reused,
            read,
        })
    })
}

/// What the walk met and did not hand to the hash threads.
enum Found {
    Entry(RelPathBuf, Entry),
    /// A file that the cache has under this number. Whether it is as it was is known only after
    /// the walk.
    Cached(usize, KeyCheck),
}

struct TreeBuilder<'a, 'scope> {
    /// In path order.
    found: Vec<Found>,
    /// What stays out for what it holds or where it lies.
    skipped: Vec<Skipped>,
    notes: Vec<Adjustment>,
    limiter: Option<Limiter<'a>>,
    cache: Option<CacheCursor<'a>>,
    read: Vec<(RelPathBuf, StatKey)>,
    workers: Option<Workers<'scope>>,
}

impl TreeBuilder<'_, '_> {
    fn entry(&mut self, path: &RelPath, entry: Entry) {
        self.found.push(Found::Entry(path.to_owned(), entry));
    }

    /// Hashes a file, or only lists it if contents are not asked for.
    fn add_file(
        &mut self,
        path: &RelPath,
        file: OwnedFd,
        stat: &Stat,
        check: KeyCheck,
    ) -> Result<(), WalkError> {
        let Some(workers) = &mut self.workers else {
            return self.list_file(path, file, stat, check);
        };
        if self.cache.is_some()
            && let Some(key) = StatKey::of(stat)
        {
            self.read.push((path.to_owned(), key));
        }
        workers.jobs().hash(path.to_owned(), file, *stat, check)
    }

    fn list_file(
        &mut self,
        path: &RelPath,
        file: OwnedFd,
        stat: &Stat,
        check: KeyCheck,
    ) -> Result<(), WalkError> {
        if check.looks_into(size(stat)) {
            let mut contents = Vec::new();
            let read = File::from(file)
                .take(LOOKED_INTO as u64)
                .read_to_end(&mut contents);
            read.map_err(|error| WalkError::io(path.as_str().as_bytes(), error))?;
            if holds_private_key(&contents) {
                self.skipped.push(holds_key(path, stat));
                return Ok(());
            }
        }
        let entry = Entry::File {
            mode: mode(stat),
            size: size(stat),
            digest: Digest::of(b""),
        };
        self.entry(path, entry);
        Ok(())
    }

    /// Reads the files that the walk met and that are not as the cache knows them.
    fn read_changed(
        &mut self,
        workspace: &WorkspaceDir,
        known: &[CacheEntry],
        is_reused: &dyn Fn(usize) -> bool,
    ) -> Result<(), WalkError> {
        let changed = self.found.iter().filter_map(|found| match found {
            Found::Cached(number, check) if !is_reused(*number) => {
                Some((&*known[*number].path, *check))
            }
            Found::Cached(..) | Found::Entry(..) => None,
        });
        let changed: Vec<(&RelPath, KeyCheck)> = changed.collect();
        if changed.is_empty() {
            return Ok(());
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
                Some((file, stat)) => self.add_file(path, file, &stat, check)?,
                None => self.skipped.push(Skipped {
                    name: raw.to_vec(),
                    reason: SkipReason::Mount,
                    bytes: rustix::fs::statat(dir.fd(), &*name, AtFlags::SYMLINK_NOFOLLOW)
                        .ok()
                        .map(|stat| size(&stat)),
                }),
            }
        }
        Ok(())
    }
}

impl Visitor for TreeBuilder<'_, '_> {
    type Error = WalkError;

    fn listed(&mut self, names: usize) -> Result<(), WalkError> {
        match &self.limiter {
            Some(limiter) => limiter.check_names(names),
            None => Ok(()),
        }
    }

    fn meet(&mut self, path: &[u8]) -> Result<(), WalkError> {
        match &mut self.limiter {
            Some(limiter) => limiter.add_entry(path),
            None => Ok(()),
        }
    }

    fn dir(&mut self, path: &RelPath) -> Result<(), WalkError> {
        self.entry(path, Entry::Dir);
        Ok(())
    }

    fn symlink(
        &mut self,
        path: &RelPath,
        target: LinkTarget,
        _: FileTime,
    ) -> Result<(), WalkError> {
        if let Some(limiter) = &mut self.limiter {
            limiter.add_name_bytes(target.as_str().len())?;
        }
        self.entry(path, Entry::Symlink { target });
        Ok(())
    }

    fn takes(&mut self, path: &RelPath, dir: &OpenDir, check: KeyCheck) -> Result<bool, WalkError> {
        let Some((number, known)) = self.cache.as_mut().and_then(|cache| cache.find(path)) else {
            return Ok(false);
        };
        if !is_cacheable(path) {
            let stat = rustix::fs::statat(dir.fd(), path.file_name(), AtFlags::SYMLINK_NOFOLLOW);
            let is_same = stat.is_ok_and(|stat| StatKey::of(&stat) == Some(known.key));
            if !is_same {
                return Ok(false);
            }
        }
        self.found.push(Found::Cached(number, check));
        Ok(true)
    }

    #[expect(clippy::unnecessary_cast, reason = "the width differs between systems")]
    fn file(
        &mut self,
        path: &RelPath,
        file: OwnedFd,
        stat: &Stat,
        check: KeyCheck,
    ) -> Result<(), WalkError> {
        if let Some(limiter) = &mut self.limiter {
            limiter.add_file(path, size(stat))?;
        }
        let special = stat.st_mode as u32 & 0o7000;
        if special != 0 {
            self.notes.push(Adjustment {
                name: path.as_str().as_bytes().to_vec(),
                code: finding_code::MODE_SPECIAL,
                reason: format!("has the mode bits {special:04o}, which nothing carries"),
            });
        }
        self.add_file(path, file, stat, check)
    }

    fn made(&mut self, path: &RelPath, contents: &[u8]) -> Result<(), WalkError> {
        let entry = Entry::File {
            mode: Mode::Plain,
            size: contents.len() as u64,
            digest: Digest::of(contents),
        };
        self.entry(path, entry);
        Ok(())
    }
}
