//! `Draft`: a plan in the making.

use std::collections::{BTreeMap, BTreeSet};

use lazaret_protocol::UpdateOrder;
use lazaret_tree::{Entry, RelPath, RelPathBuf, Tree};

use super::{Clash, ClashKind, Plan};
use crate::VolumeState;

/// What was decided so far. Every path is decided once.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    remove: BTreeSet<RelPathBuf>,
    send: Tree,
    adopted: BTreeSet<RelPathBuf>,
    stays: BTreeSet<RelPathBuf>,
    clashes: Vec<Clash>,
    moved: BTreeMap<RelPathBuf, Option<Entry>>,
    /// Directories to remove once it is known what else goes.
    leaving: Vec<RelPathBuf>,
}

impl Draft {
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

    pub(super) fn clash(&mut self, path: &RelPath, kind: ClashKind) {
        let path = path.to_owned();
        self.clashes.push(Clash { path, kind });
    }

    /// Whether `path` lies below the clash that was found last; those before it are behind,
    /// as paths are decided in order.
    pub(super) fn below_clash(&self, path: &RelPath) -> bool {
        let last = self.clashes.last();
        last.is_some_and(|clash| path.starts_with(&clash.path))
    }

    /// Whether `path` lies below any clash.
    pub(super) fn below_any_clash(&self, path: &RelPath) -> bool {
        let mut clashes = self.clashes.iter();
        clashes.any(|clash| path.starts_with(&clash.path))
    }

    /// Whether there is a clash at `path` or below it.
    pub(super) fn has_clash_below(&self, path: &RelPath) -> bool {
        let mut clashes = self.clashes.iter();
        clashes.any(|clash| clash.path.starts_with(path))
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
            let others = volume.others_below(path).all(|(name, _)| {
                RelPath::from_bytes(name).is_ok_and(|path| self.remove.contains(path))
            });
            if held && others {
                self.remove(path);
            } else {
                self.stays.insert(path.clone());
                self.set(path, Some(&Entry::Dir));
            }
        }
    }

    pub(super) fn finish(self) -> Plan {
        let mut clashes = self.clashes;
        clashes.sort_unstable();
        Plan {
            order: UpdateOrder {
                remove: self.remove.into_iter().collect(),
                send: self.send,
                quiet_since: None,
            },
            adopted: self.adopted.into_iter().collect(),
            stays: self.stays.into_iter().collect(),
            clashes,
            moved: self.moved,
        }
    }

    fn set(&mut self, path: &RelPath, entry: Option<&Entry>) {
        self.moved.insert(path.to_owned(), entry.cloned());
    }
}
