//! `Choices`: what a person wants of a case.

use std::collections::{BTreeMap, BTreeSet};

use lazaret_tree::{RelPath, RelPathBuf};
use lazaret_validator::Allowance;

/// What is wanted of one change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pick {
    /// All of it. Where the user changed the file too: merged with that, or not at all. A file
    /// that was moved stays where it is if the place that it was moved to is not applied.
    Take,
    /// All of it by itself, whatever becomes of the place that it was moved to.
    Alone,
    /// Nothing of it, for now.
    Leave,
    /// These hunks of it, by their index in [`FileDiff::hunks`](super::file_diff::FileDiff::hunks).
    Hunks(BTreeSet<usize>),
    /// The session's version in place of the user's own, where the two are in conflict.
    /// An undo brings the user's back.
    SessionVersion,
}

/// What a person wants of a case: a pick for some paths, one for all others, and what is
/// allowed although a rule blocks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choices {
    others: Pick,
    picks: BTreeMap<RelPathBuf, Pick>,
    allowed: Vec<Allowance>,
}

impl Choices {
    /// Takes everything.
    pub fn all() -> Self {
        Self {
            others: Pick::Take,
            picks: BTreeMap::new(),
            allowed: Vec::new(),
        }
    }

    /// Takes nothing but what is picked.
    pub fn none() -> Self {
        Self {
            others: Pick::Leave,
            ..Self::all()
        }
    }

    /// Says what is wanted of one path.
    pub fn pick(&mut self, path: &(impl ToOwned<Owned = RelPathBuf> + ?Sized), pick: Pick) {
        // A path that is owned is shared; what is wanted of all others need not be said.
        let path = path.to_owned();
        match pick == self.others {
            true => drop(self.picks.remove(&path)),
            false => drop(self.picks.insert(path, pick)),
        }
    }

    /// Returns what is wanted of one path.
    pub fn of(&self, path: &RelPath) -> &Pick {
        self.picks.get(path).unwrap_or(&self.others)
    }

    /// Returns the paths that are taken by themselves.
    pub fn alone(&self) -> BTreeSet<RelPathBuf> {
        let alone = self.picks.iter().filter(|(_, pick)| **pick == Pick::Alone);
        alone.map(|(path, _)| path.clone()).collect()
    }

    /// Allows one finding about one change.
    pub fn allow(&mut self, allowance: Allowance) {
        if !self.allowed.contains(&allowance) {
            self.allowed.push(allowance);
        }
    }

    /// Takes back what was allowed for one path.
    pub fn disallow(&mut self, path: &RelPath) {
        self.allowed.retain(|allowance| *allowance.path != *path);
    }

    /// Returns what is allowed.
    pub fn allowed(&self) -> &[Allowance] {
        &self.allowed
    }
}
