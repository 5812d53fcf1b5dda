//! `diff`: what changed between two trees.

use crate::{Entry, RelPath, RelPathBuf, Tree};

/// One path at which two trees differ.
///
/// Invariant: `before` and `after` differ, so at least one is there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Change {
    /// Where.
    pub path: RelPathBuf,
    /// What was there; `None` when it is new.
    pub before: Option<Entry>,
    /// What is there now; `None` when it is gone.
    pub after: Option<Entry>,
}

/// The changes from one tree to another, in path order, each path once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeSet {
    changes: Vec<Change>,
}

impl ChangeSet {
    /// Iterates in path order: a directory comes before what it contains.
    pub fn iter(&self) -> std::slice::Iter<'_, Change> {
        self.changes.iter()
    }

    /// Returns the changes in path order.
    pub fn as_slice(&self) -> &[Change] {
        &self.changes
    }

    /// Returns the changes in path order.
    pub fn into_vec(self) -> Vec<Change> {
        self.changes
    }

    /// Looks a path up.
    pub fn get(&self, path: &RelPath) -> Option<&Change> {
        let index = self
            .changes
            .binary_search_by(|change| (*change.path).cmp(path))
            .ok()?;
        self.changes.get(index)
    }

    /// Counts the changes.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

impl<'a> IntoIterator for &'a ChangeSet {
    type Item = &'a Change;
    type IntoIter = std::slice::Iter<'a, Change>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Compares two trees; contents by digest, modes by their execute bit.
pub fn diff(before: &Tree, after: &Tree) -> ChangeSet {
    let mut changes = Vec::new();
    let mut push = |path: &RelPath, before: Option<&Entry>, after: Option<&Entry>| {
        if before != after {
            changes.push(Change {
                path: path.to_owned(),
                before: before.cloned(),
                after: after.cloned(),
            });
        }
    };
    for (path, entry) in before.iter() {
        push(path, Some(entry), after.get(path));
    }
    for (path, entry) in after.iter() {
        if before.get(path).is_none() {
            push(path, None, Some(entry));
        }
    }
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    ChangeSet { changes }
}
