//! `walk`: a workspace into its manifest.

mod cached;
mod dir_cursor;
mod error;
mod git;
mod git_modules;
mod hash_pool;
mod known_files;
mod listing;
mod open;
mod size_estimate;
mod sizes;
mod small_file;
mod state;
mod traverse;
mod untrusted;
mod visitor;

use std::fs::File;
use std::io::Read as _;
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;

use lazaret_tree::{Digest, Entry, LinkTarget, Mode, RelPath, Tree};
use rustix::fs::Stat;

pub use cached::walk_cached;
pub use error::WalkError;
pub(crate) use hash_pool::check_unchanged;
use hash_pool::{HashPool, Workers};
use lazaret_protocol::FileTime;
pub use size_estimate::{SizeEstimate, SizeEstimator};
pub use sizes::larger_than;
pub(crate) use traverse::{Traversed, holds_key, in_order, size, traverse};
pub use untrusted::{UntrustedTree, UntrustedWalkError, walk_untrusted};
pub(crate) use visitor::{KeyCheck, Visitor};

use crate::select::{LOOKED_INTO, holds_private_key};
use crate::{FileSelector, Skipped, Tips, WorkspaceDir};

/// More threads gain nothing from one disk.
const MOST_THREADS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(3);

/// What a walk does with contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hashing {
    /// Reads and hashes every file, on that many threads.
    Contents(NonZeroUsize),
    /// Reads nothing: every digest is that of the empty file. For lists of names
    /// and sizes, never for a comparison.
    SizesOnly,
}

impl Hashing {
    /// Contents, on as many threads as the machine has cores, at most 4.
    pub fn parallel() -> Self {
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self::Contents(cores.min(MOST_THREADS))
    }
}

/// A workspace, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walked {
    /// What goes in.
    pub tree: Tree,
    /// What stays out, in path order.
    pub skipped: Vec<Skipped>,
    /// What the refs of the repositories name that go in.
    pub tips: Tips,
}

/// Reads everything below `workspace` that `selector` takes in, by the same walk
/// as [`pack`](crate::pack): the tree is what a pack would send.
///
/// # Errors
/// The first entry that cannot be read, or that changes while it is read.
pub fn walk(
    workspace: &WorkspaceDir,
    selector: &FileSelector,
    hashing: Hashing,
) -> Result<Walked, WalkError> {
    let Hashing::Contents(threads) = hashing else {
        let mut visitor = Listed {
            tree: Tree::new(),
            skipped: Vec::new(),
        };
        let Traversed { skipped, tips } = traverse(workspace, selector, &mut visitor)?;
        let tree = visitor.tree;
        let skipped = in_order(skipped, visitor.skipped);
        return Ok(Walked {
            tree,
            skipped,
            tips,
        });
    };
    let pool = HashPool::default();
    std::thread::scope(|scope| {
        let mut visitor = Hashed {
            tree: Tree::new(),
            workers: pool.start(scope, threads),
        };
        let traversed = traverse(workspace, selector, &mut visitor);
        let Hashed { mut tree, workers } = visitor;
        // When a file has failed, that is the cause, and the walk only noticed.
        let files = workers.finish()?;
        let Traversed { skipped, tips } = traversed?;
        let skipped = in_order(skipped, files.skipped);
        for (path, entry) in files.files {
            tree.insert(path, entry);
        }
        Ok(Walked {
            tree,
            skipped,
            tips,
        })
    })
}

/// Lists names and sizes. Reads what may hold a key, and nothing else.
struct Listed {
    tree: Tree,
    skipped: Vec<Skipped>,
}

impl Visitor for Listed {
    type Error = WalkError;

    fn dir(&mut self, path: &RelPath) -> Result<(), WalkError> {
        self.tree.insert(path.to_owned(), Entry::Dir);
        Ok(())
    }

    fn symlink(
        &mut self,
        path: &RelPath,
        target: LinkTarget,
        _: FileTime,
    ) -> Result<(), WalkError> {
        self.tree.insert(path.to_owned(), Entry::Symlink { target });
        Ok(())
    }

    fn file(
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
        self.tree.insert(path.to_owned(), entry);
        Ok(())
    }

    fn made(&mut self, path: &RelPath, contents: &[u8]) -> Result<(), WalkError> {
        self.tree.insert(path.to_owned(), made(contents));
        Ok(())
    }
}

/// Hashes files on other threads.
struct Hashed<'scope> {
    tree: Tree,
    workers: Workers<'scope>,
}

impl Visitor for Hashed<'_> {
    type Error = WalkError;

    fn dir(&mut self, path: &RelPath) -> Result<(), WalkError> {
        self.tree.insert(path.to_owned(), Entry::Dir);
        Ok(())
    }

    fn symlink(
        &mut self,
        path: &RelPath,
        target: LinkTarget,
        _: FileTime,
    ) -> Result<(), WalkError> {
        self.tree.insert(path.to_owned(), Entry::Symlink { target });
        Ok(())
    }

    fn file(
        &mut self,
        path: &RelPath,
        file: OwnedFd,
        stat: &Stat,
        check: KeyCheck,
    ) -> Result<(), WalkError> {
        let jobs = self.workers.jobs();
        jobs.hash(path.to_owned(), file, *stat, check)
    }

    fn made(&mut self, path: &RelPath, contents: &[u8]) -> Result<(), WalkError> {
        self.tree.insert(path.to_owned(), made(contents));
        Ok(())
    }
}

/// Reads the owner's execute bit.
#[expect(clippy::unnecessary_cast, reason = "the width differs between systems")]
pub(crate) fn mode(stat: &Stat) -> Mode {
    Mode::from_unix(stat.st_mode as u32)
}

fn made(contents: &[u8]) -> Entry {
    Entry::File {
        mode: Mode::Plain,
        size: contents.len() as u64,
        digest: Digest::of(contents),
    }
}
