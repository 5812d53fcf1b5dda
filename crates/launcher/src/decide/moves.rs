//! What was moved, for a person: one line in place of two.

use std::collections::{BTreeMap, BTreeSet};

use lazaret_gate::proposal::ProposedChange;
use lazaret_tree::{Change, RelPath, Renames};

/// Files, links and directories that a batch brings from one path to another, unchanged.
#[derive(Debug, Default)]
pub(super) struct Moves<'a> {
    /// From new places to old ones.
    old_places: BTreeMap<&'a RelPath, &'a RelPath>,
    left: BTreeSet<&'a RelPath>,
}

impl<'a> Moves<'a> {
    /// Finds them among changes in path order. Two halves of which not the same becomes are no
    /// move: each has a line of its own.
    pub(super) fn of(changes: &[&'a ProposedChange]) -> Self {
        let made: Vec<&Change> = changes.iter().map(|change| &*change.made).collect();
        let mut moves = Self::default();
        for pair in Renames::of(&made).pairs() {
            let (from, to) = (changes[pair.from], changes[pair.to]);
            let is_whole = from.made.after.is_none() && to.made.before.is_none();
            if is_whole && from.state == to.state && from.origin == to.origin {
                moves.old_places.insert(to.path(), from.path());
                moves.left.insert(from.path());
            }
        }
        moves
    }

    /// Returns where what came to `path` was.
    pub(super) fn old_place(&self, path: &RelPath) -> Option<&'a RelPath> {
        self.old_places.get(path).copied()
    }

    /// Whether `path` is the old place of something.
    pub(super) fn was_left(&self, path: &RelPath) -> bool {
        self.left.contains(path)
    }

    /// Whether `path` is either place of a move.
    pub(super) fn concerns(&self, path: &RelPath) -> bool {
        self.was_left(path) || self.old_places.contains_key(path)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.old_places.len()
    }
}
