//! `walk`: a workspace into its manifest.

mod cached;
mod dir_cursor;
mod error;
mod git;
mod git_modules;
mod hash_pool;
mod known_files;
mod limiter;
mod listing;
mod open;
mod size_estimate;
mod sizes;
mod small_file;
mod state;
mod traverse;
mod tree_builder;
mod untrusted;
mod visitor;

use std::num::NonZeroUsize;

use lazaret_tree::{Mode, Tree};
use rustix::fs::Stat;

pub use cached::walk_cached;
pub use error::WalkError;
pub(crate) use hash_pool::check_unchanged;
pub use size_estimate::{SizeEstimate, SizeEstimator};
pub use sizes::larger_than;
pub(crate) use traverse::{Traversed, holds_key, in_order, size, traverse};
use tree_builder::{BuildOptions, BuiltTree, build_tree};
pub use untrusted::{UntrustedTree, walk_untrusted};
pub(crate) use visitor::{KeyCheck, Visitor};

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
        Self::Contents(hash_threads())
    }
}

/// How many threads hash contents.
fn hash_threads() -> NonZeroUsize {
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    cores.min(MOST_THREADS)
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
    let threads = match hashing {
        Hashing::Contents(threads) => Some(threads),
        Hashing::SizesOnly => None,
    };
    let options = BuildOptions {
        threads,
        ..BuildOptions::default()
    };
    build_tree(workspace, selector, options).map(Walked::from)
}

impl From<BuiltTree> for Walked {
    fn from(built: BuiltTree) -> Self {
        Self {
            tree: built.tree,
            skipped: built.skipped,
            tips: built.tips,
        }
    }
}

/// Reads the owner's execute bit.
#[expect(clippy::unnecessary_cast, reason = "the width differs between systems")]
pub(crate) fn mode(stat: &Stat) -> Mode {
    Mode::from_unix(stat.st_mode as u32)
}
