//! `History`: the new commits below a tip, oldest first.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use lazaret_transfer::ObjectId;

use crate::commit::{Commit, tagged, tree_of};
use crate::limits::{MAX_COMMIT_BYTES, MAX_COMMITS};
use crate::objects::{ObjectError, ObjectKind, ObjectReader};
use crate::quarantine::Quarantine;
use crate::refusal::Refusal;

/// Tags of tags are followed this far.
const MAX_TAGS: usize = 8;

/// Commits that were read, of all tips.
#[derive(Debug, Default)]
pub struct History {
    commits: HashMap<ObjectId, Commit>,
}

/// What a tip brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCommits {
    /// The commit that the tip names; that of a tag is what it tags.
    pub commit: ObjectId,
    /// New commits, each after its parents.
    pub oldest_first: Vec<ObjectId>,
    /// The user's commit that the first parents lead to; `None` for a history of its own.
    pub base: Option<ObjectId>,
}

impl History {
    /// Follows a tip until it meets the user's commits.
    ///
    /// # Errors
    /// Why the tip is refused.
    pub fn follow(
        &mut self,
        tip: ObjectId,
        quarantine: &Quarantine,
        reader: &mut ObjectReader,
    ) -> Result<NewCommits, Refusal> {
        let commit = peel(tip, reader)?;
        let mut done = HashSet::new();
        let mut oldest_first = Vec::new();
        // A commit is there twice: before its parents were looked at, and after.
        let mut open = vec![(commit, false)];
        while let Some((id, parents_done)) = open.pop() {
            if parents_done {
                oldest_first.push(id);
                continue;
            }
            if !quarantine.is_new(&id) {
                // Also that of a shallow history, which ends here.
                reader.read(&id, ObjectKind::Commit, MAX_COMMIT_BYTES)?;
                continue;
            }
            if !done.insert(id) {
                continue;
            }
            if done.len() > MAX_COMMITS {
                return Err(Refusal::ManyCommits);
            }
            open.push((id, true));
            let commit = self.read(id, reader)?;
            open.extend(commit.parents.iter().rev().map(|parent| (*parent, false)));
        }
        Ok(NewCommits {
            commit,
            base: self.base(commit),
            oldest_first,
        })
    }

    /// Returns a new commit that [`Self::follow`] met.
    pub fn commit(&self, id: &ObjectId) -> Option<&Commit> {
        self.commits.get(id)
    }

    /// Returns the tree of a commit, new or not.
    ///
    /// # Errors
    /// When the commit can't be had, or names no tree.
    pub fn tree(&self, id: ObjectId, reader: &mut ObjectReader) -> Result<ObjectId, Refusal> {
        if let Some(commit) = self.commits.get(&id) {
            return Ok(commit.tree);
        }
        let bytes = reader.read(&id, ObjectKind::Commit, MAX_COMMIT_BYTES)?;
        tree_of(&bytes).map_err(|error| Refusal::Commit { id, error })
    }

    fn read(&mut self, id: ObjectId, reader: &mut ObjectReader) -> Result<&Commit, Refusal> {
        Ok(match self.commits.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let bytes = reader.read(&id, ObjectKind::Commit, MAX_COMMIT_BYTES)?;
                let commit = Commit::parse(&bytes);
                place.insert(commit.map_err(|error| Refusal::Commit { id, error })?)
            }
        })
    }

    /// Follows first parents until they leave the new commits.
    fn base(&self, tip: ObjectId) -> Option<ObjectId> {
        let mut next = tip;
        while let Some(commit) = self.commits.get(&next) {
            next = *commit.parents.first()?;
        }
        Some(next)
    }
}

/// Follows annotated tags to a commit.
fn peel(tip: ObjectId, reader: &mut ObjectReader) -> Result<ObjectId, Refusal> {
    let mut id = tip;
    for _ in 0..MAX_TAGS {
        match reader.read(&id, ObjectKind::Tag, MAX_COMMIT_BYTES) {
            Err(ObjectError::Kind(..)) => {
                return match reader.read(&id, ObjectKind::Commit, MAX_COMMIT_BYTES) {
                    Err(ObjectError::Kind(..)) => Err(Refusal::NoCommit),
                    Err(error) => Err(error.into()),
                    Ok(_) => Ok(id),
                };
            }
            Err(error) => return Err(error.into()),
            Ok(bytes) => match tagged(&bytes) {
                Some((object, b"commit" | b"tag")) => id = object,
                _ => return Err(Refusal::NoCommit),
            },
        }
    }
    Err(Refusal::NoCommit)
}
