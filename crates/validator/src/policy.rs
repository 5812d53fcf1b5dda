//! `Policy`: the limits and rules a batch is judged by.

use std::collections::BTreeSet;
use std::sync::Arc;

use lazaret_tree::{Change, MAX_DEPTH, MAX_PATH_BYTES, RelPath, RelPathBuf};

use crate::rules::fold;
use crate::{Allowance, GitConfig, GitIndex, HandedOut};

/// The most that one batch of changes may hold. Reaching over one of the first
/// two rejects the batch; the others withhold the entry (docs/design/threats.md, section 0).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Changed entries, deletions included.
    pub entries: u64,
    /// Bytes of all files that are new or changed.
    pub total_bytes: u64,
    /// Bytes of one file; one that is larger rejects the batch too (TAR-49).
    pub file_bytes: u64,
    /// Bytes of one path.
    pub path_bytes: usize,
    /// Components of one path.
    pub depth: usize,
}

/// Whether the file system that the changes go to tells `A` from `a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// Names that differ in case or normalisation are different files.
    Distinguishes,
    /// Such names are one file (macOS, Windows, ext4 with casefold).
    Folds,
}

/// What a batch is judged by. It comes from the baseline and the user's own
/// configuration, never from what came out of a container (SUS-29).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The limits.
    pub limits: Limits,
    /// Paths that must not change, with everything below them.
    pub protect: Vec<RelPathBuf>,
    /// What the destination does with names that differ in case only.
    pub destination: Destination,
    /// What the user allows by name.
    pub allowed: Vec<Allowance>,
    /// Paths that the user takes by themselves, though what is there was moved to a place that
    /// is withheld (APP-27).
    pub alone: BTreeSet<RelPathBuf>,
    /// What the user's own git configuration has git run or read (GIT-11, GIT-27).
    pub git: GitConfig,
    /// What the session was handed, and no change may bring back (SUS-38).
    pub handed: HandedOut,
    /// What the workspace's repository has, if it is known: what it has not can't be got
    /// back from git (SUS-36).
    pub index: Option<Arc<GitIndex>>,
    /// Where the workspace is, an absolute path: a link may name it (SUS-30).
    pub root: Option<String>,
    /// What links of the batch lead to that is in the workspace and was not copied
    /// (SUS-35).
    pub left_out: BTreeSet<RelPathBuf>,
}

impl Limits {
    /// Returns the limits that lazaret ships with: 200,000 entries, 4 GiB in
    /// all, 512 MiB in one file.
    pub fn shipped() -> Self {
        Self {
            entries: 200_000,
            total_bytes: 4 << 30,
            file_bytes: 512 << 20,
            path_bytes: MAX_PATH_BYTES,
            depth: MAX_DEPTH,
        }
    }
}

impl Policy {
    /// Returns the policy that lazaret ships with, for a destination that
    /// distinguishes names; nothing is protected, and git runs nothing.
    pub fn shipped() -> Self {
        Self {
            limits: Limits::shipped(),
            protect: Vec::new(),
            destination: Destination::Distinguishes,
            allowed: Vec::new(),
            alone: BTreeSet::new(),
            git: GitConfig::default(),
            handed: HandedOut::default(),
            index: None,
            root: None,
            left_out: BTreeSet::new(),
        }
    }

    /// Whether the user allows what `code` says about `change`.
    pub(crate) fn allows(&self, change: &Change, code: &str) -> bool {
        self.allowed
            .iter()
            .any(|allowance| allowance.covers(change, code))
    }

    /// Returns the protected path that covers `path`, also where it is spelled in another
    /// case or normalisation: what folds names would take it for the protected one.
    pub(crate) fn protected_by(&self, path: &RelPath) -> Option<&RelPath> {
        if self.protect.is_empty() {
            return None;
        }
        let folded = fold(path.as_str());
        self.protect
            .iter()
            .map(|protected| &**protected)
            .find(|protected| {
                let rest = folded.strip_prefix(&*fold(protected.as_str()));
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
    }
}
