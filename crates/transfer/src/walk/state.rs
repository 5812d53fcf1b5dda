//! `Walk`: where the walk is, and what it has met so far.

use std::collections::BTreeMap;

use lazaret_tree::RelPathBuf;
use rustix::io::Errno;

use super::WalkError;
use super::open::OpenError;
use crate::select::Ignores;
use crate::{FileSelector, GitProblem, Repository, Skipped, Tips};

/// A walk in progress.
pub(super) struct Walk<'a, S> {
    pub(super) selector: &'a FileSelector,
    pub(super) device: u64,
    pub(super) visitor: &'a mut S,
    /// The raw path of the current entry.
    pub(super) path: Vec<u8>,
    /// What a directory's names are read into.
    pub(super) names: Vec<u8>,
    pub(super) ignores: Ignores,
    pub(super) skipped: Vec<Skipped>,
    pub(super) repository: Result<Option<&'a Repository>, GitProblem>,
    /// What the `.git` files of submodules say inside, by the submodule's directory.
    pub(super) pointers: BTreeMap<RelPathBuf, String>,
    /// Whether a pack says that objects were left at their source.
    pub(super) promised: bool,
    /// What the refs name that went in.
    pub(super) tips: Tips,
}

/// Where the walk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Region {
    Workspace,
    /// In a repository that goes in, whose parts are chosen by their paths from `base` on.
    Git {
        base: usize,
    },
    /// In the `.git` of the root, of which all that matters is taken.
    WholeGit,
}

/// Whether what lies in a directory may still keep it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheCheck {
    None,
    Inside,
}

impl<S> Walk<'_, S> {
    pub(super) fn error(&self, error: OpenError) -> WalkError {
        match error {
            OpenError::Errno(errno) => WalkError::io(&self.path, errno),
            OpenError::Mount => self.changed(),
        }
    }

    pub(super) fn errno(&self, errno: Errno) -> WalkError {
        WalkError::io(&self.path, errno)
    }

    pub(super) fn changed(&self) -> WalkError {
        let name = self.path.clone();
        WalkError::Changed { name }
    }
}
