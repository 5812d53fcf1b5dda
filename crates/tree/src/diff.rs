//! `diff`: two trees into the set of changes between them.

use std::cmp::Ordering;
use std::iter;
use std::sync::Arc;

use crate::{Digest, Entry, RelPath, RelPathBuf, Tree};

/// What happened at one path.
///
/// Invariant: `before` and `after` differ, so at least one is there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Change {
    /// Where.
    pub path: RelPathBuf,
    /// What was there; `None` when nothing was.
    pub before: Option<Entry>,
    /// What is there now; `None` when nothing is.
    pub after: Option<Entry>,
}

/// The kind of a [`Change`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    /// Nothing was there before.
    Added,
    /// Another content or another link target.
    Modified,
    /// The same bytes, executable or no longer so (AUD-02).
    ModeOnly,
    /// Nothing is there any more.
    Deleted,
    /// A file became a directory, a link a file, and so on (APP-15).
    TypeChanged,
}

impl ChangeKind {
    /// Returns the word that reports use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::ModeOnly => "mode",
            Self::Deleted => "deleted",
            Self::TypeChanged => "type",
        }
    }
}

impl Change {
    /// Says what kind of change this is.
    pub fn kind(&self) -> ChangeKind {
        match (&self.before, &self.after) {
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Deleted,
            (Some(Entry::File { digest: old, .. }), Some(Entry::File { digest: new, .. })) => {
                if old == new {
                    ChangeKind::ModeOnly
                } else {
                    ChangeKind::Modified
                }
            }
            (Some(Entry::Dir), Some(Entry::Dir))
            | (Some(Entry::Symlink { .. }), Some(Entry::Symlink { .. })) => ChangeKind::Modified,
            (Some(_), Some(_)) => ChangeKind::TypeChanged,
        }
    }
}

/// Every path at which two trees differ, in path order, each path once.
///
/// Each change is there once, and shared by whatever is proposed, judged and applied of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeSet {
    changes: Vec<Arc<Change>>,
}

/// The changes of a [`ChangeSet`], in path order.
pub type Changes<'a> =
    iter::Map<std::slice::Iter<'a, Arc<Change>>, fn(&'a Arc<Change>) -> &'a Change>;

impl ChangeSet {
    /// Puts changes together, each of another path.
    pub fn new(mut changes: Vec<Arc<Change>>) -> Self {
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        debug_assert!(changes.is_sorted_by(|a, b| a.path < b.path));
        Self { changes }
    }

    /// Iterates in path order.
    pub fn iter(&self) -> Changes<'_> {
        self.changes.iter().map(|change| &**change)
    }

    /// Borrows the changes, in path order.
    pub fn as_slice(&self) -> &[Arc<Change>] {
        &self.changes
    }

    /// Returns the changes, in path order.
    pub fn into_vec(self) -> Vec<Arc<Change>> {
        self.changes
    }

    /// Looks a path up.
    pub fn get(&self, path: &RelPath) -> Option<&Change> {
        let index = self
            .changes
            .binary_search_by(|change| (*change.path).cmp(path))
            .ok()?;
        self.changes.get(index).map(|change| &**change)
    }

    /// Counts the changed paths.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether the trees were equal.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Keeps the changes that `keep` says yes to.
    #[must_use]
    pub fn filter(&self, mut keep: impl FnMut(&Change) -> bool) -> Self {
        let changes = self.changes.iter().filter(|change| keep(change));
        Self {
            changes: changes.cloned().collect(),
        }
    }

    /// Returns a digest over paths and both sides of each change.
    ///
    /// An approval names it: what is applied later has the same digest, or is
    /// not applied (P3).
    pub fn digest(&self) -> Digest {
        let mut hasher = blake3::Hasher::new_derive_key("lazaret 2026 change set v1");
        for change in &self.changes {
            hasher.update(&(change.path.as_str().len() as u64).to_le_bytes());
            hasher.update(change.path.as_str().as_bytes());
            for side in [&change.before, &change.after] {
                match side {
                    None => {
                        hasher.update(b"-");
                    }
                    Some(entry) => entry.hash_into(&mut hasher),
                }
            }
        }
        hasher.finalize().into()
    }
}

/// What comes of changes to a tree, without a second tree: a large one takes 14 MiB.
#[derive(Debug, Clone, Copy)]
pub struct Changed<'a> {
    before: &'a Tree,
    changes: &'a ChangeSet,
}

impl<'a> Changed<'a> {
    /// Lays changes over a tree.
    pub fn new(before: &'a Tree, changes: &'a ChangeSet) -> Self {
        Self { before, changes }
    }

    /// Looks an entry up.
    pub fn get(self, path: &RelPath) -> Option<&'a Entry> {
        match self.changes.get(path) {
            Some(change) => change.after.as_ref(),
            None => self.before.get(path),
        }
    }

    /// Iterates in path order.
    pub fn entries(self) -> impl Iterator<Item = (&'a RelPathBuf, &'a Entry)> {
        let mut old = self.before.entries().peekable();
        let mut new = self.changes.iter().peekable();
        iter::from_fn(move || {
            loop {
                let is_old = match (old.peek(), new.peek()) {
                    (Some((path, _)), Some(change)) => **path < change.path,
                    (_, change) => change.is_none(),
                };
                if is_old {
                    return old.next();
                }
                let change = new.next()?;
                old.next_if(|(path, _)| **path == change.path);
                if let Some(entry) = &change.after {
                    return Some((&change.path, entry));
                }
            }
        })
    }
}

impl<'a> IntoIterator for &'a ChangeSet {
    type Item = &'a Change;
    type IntoIter = Changes<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Compares two trees.
///
/// Nothing is special here, neither `.git` nor any name; two entries are equal
/// when type, mode, contents and link target are.
pub fn diff(before: &Tree, after: &Tree) -> ChangeSet {
    // Counted first: a list that grows has half of its room to spare, and leaves holes.
    let mut changes = Vec::with_capacity(differences(before, after).count());
    changes.extend(differences(before, after).map(|(path, before, after)| {
        Arc::new(Change {
            path: path.clone(),
            before: before.cloned(),
            after: after.cloned(),
        })
    }));
    ChangeSet { changes }
}

/// Both sides of every path at which two trees differ, in path order.
fn differences<'a>(
    before: &'a Tree,
    after: &'a Tree,
) -> impl Iterator<Item = (&'a RelPathBuf, Option<&'a Entry>, Option<&'a Entry>)> {
    let (mut old, mut new) = (before.entries().peekable(), after.entries().peekable());
    iter::from_fn(move || {
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return None,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((old, _)), Some((new, _))) => old.cmp(new),
            };
            let before = if order.is_le() { old.next() } else { None };
            let after = if order.is_ge() { new.next() } else { None };
            let (path, _) = before.or(after)?;
            let (before, after) = (before.map(|side| side.1), after.map(|side| side.1));
            if before != after {
                return Some((path, before, after));
            }
        }
    })
}
