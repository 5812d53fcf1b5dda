//! `PlanBuilder`: a plan in the making.

use std::collections::{BTreeMap, BTreeSet};

use lazaret_protocol::UpdateRequest;
use lazaret_tree::{Entry, RelPath, RelPathBuf, Tree};

use super::{RepositoryPlan, SyncConflict, SyncConflictKind, SyncPlan};
use crate::VolumeState;

/// What was decided so far. Every path is decided once.
#[derive(Debug, Clone, Default)]
pub(super) struct PlanBuilder {
    remove: BTreeSet<RelPathBuf>,
    send: Tree,
    adopted: BTreeSet<RelPathBuf>,
    stays: BTreeSet<RelPathBuf>,
    conflicts: Vec<SyncConflict>,
    baseline_changes: BTreeMap<RelPathBuf, Option<Entry>>,
    /// Directories to remove once it is known what else goes.
    leaving: Vec<RelPathBuf>,
    pub(super) repository: RepositoryPlan,
}

impl PlanBuilder {
    /// Sends the host's entry. What the volume has at `path` is not needed.
    pub(super) fn send(&mut self, path: &RelPath, entry: &Entry) {
        self.send.insert(path.to_owned(), entry.clone());
        self.set(path, Some(entry));
    }

    /// Something goes before anything is sent: a file, a link, something odd, or a
    /// directory of which all that it holds goes too.
    pub(super) fn remove(&mut self, path: &RelPath) {
        self.remove.insert(path.to_owned());
        self.set(path, None);
    }

    /// A directory goes if nothing is left in it.
    pub(super) fn leave(&mut self, path: &RelPath) {
        self.leaving.push(path.to_owned());
    }

    /// Host and volume agree, and the baseline takes it over.
    pub(super) fn adopt(&mut self, path: &RelPath, entry: Option<&Entry>) {
        self.adopted.insert(path.to_owned());
        self.set(path, entry);
    }

    pub(super) fn conflict(&mut self, path: &RelPath, kind: SyncConflictKind) {
        let path = path.to_owned();
        self.conflicts.push(SyncConflict { path, kind });
    }

    /// Whether `path` lies below the conflict that was found last; those before it are behind,
    /// as paths are decided in order.
    pub(super) fn below_conflict(&self, path: &RelPath) -> bool {
        let last = self.conflicts.last();
        last.is_some_and(|conflict| path.starts_with(&conflict.path))
    }

    /// Whether `path` lies below any conflict.
    pub(super) fn below_any_conflict(&self, path: &RelPath) -> bool {
        let mut conflicts = self.conflicts.iter();
        conflicts.any(|conflict| path.starts_with(&conflict.path))
    }

    /// Whether there is a conflict at `path` or below it.
    pub(super) fn has_conflict_below(&self, path: &RelPath) -> bool {
        let mut conflicts = self.conflicts.iter();
        conflicts.any(|conflict| conflict.path.starts_with(path))
    }

    /// Whether the directory that `path` goes to will be one in the volume.
    pub(super) fn has_parent(&self, path: &RelPath, volume: &VolumeState) -> bool {
        let Some(parent) = path.parent() else {
            return true;
        };
        match self.send.get(parent) {
            Some(entry) => *entry == Entry::Dir,
            None => volume.get(parent) == Some(&Entry::Dir) && !self.remove.contains(parent),
        }
    }

    /// Decides the directories that were to leave: one that still holds something stays, in
    /// the baseline too, so that it is not taken for the agent's.
    pub(super) fn settle(&mut self, volume: &VolumeState) {
        let mut leaving = std::mem::take(&mut self.leaving);
        leaving.sort_unstable();
        // From the bottom up.
        for path in leaving.iter().rev() {
            let held = volume
                .below(path)
                .all(|(path, _)| self.remove.contains(path));
            let unsupported = volume.unsupported_below(path).all(|(name, _)| {
                RelPath::from_bytes(name).is_ok_and(|path| self.remove.contains(path))
            });
            if held && unsupported {
                self.remove(path);
            } else {
                self.stays.insert(path.clone());
                self.set(path, Some(&Entry::Dir));
            }
        }
    }

    pub(super) fn finish(self) -> SyncPlan {
        let mut conflicts = self.conflicts;
        conflicts.sort_unstable();
        SyncPlan {
            request: UpdateRequest {
                remove: self.remove.into_iter().collect(),
                send: self.send,
                quiet_since: None,
            },
            adopted: self.adopted.into_iter().collect(),
            stays: self.stays.into_iter().collect(),
            conflicts,
            baseline_changes: self.baseline_changes,
            repository: self.repository,
        }
    }

    fn set(&mut self, path: &RelPath, entry: Option<&Entry>) {
        self.baseline_changes
            .insert(path.to_owned(), entry.cloned());
    }
}
