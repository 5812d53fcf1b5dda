//! `Collection`: what came out of a session, before its contents are fetched.

use std::collections::BTreeSet;

use crate::wire::{Survey, SurveyError};
use crate::{Entry, Note, Refusal, RelPathBuf, Skipped, Tree, VolumeState, Wanted, escape};

/// What the volume holds now, as far as lazaret carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    /// What lies in the volume and is carried. What stays behind, and
    /// everything below it, is as it was in the baseline: what cannot be carried
    /// is neither a change nor a deletion.
    pub tree: Tree,
    /// What lies in the volume and is not carried.
    pub refusals: Vec<Refusal>,
    /// Cache directories that appeared: as on the way in, they stay where they are.
    pub left_out: Vec<Skipped>,
    /// What was made safe: `mode.special`, `link.hard`.
    pub notes: Vec<Note>,
}

/// A blob that did not arrive as it was announced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: what was sent is not what was surveyed", escape(.path.as_str().as_bytes()))]
pub struct NotAsSurveyed {
    /// Where.
    pub path: RelPathBuf,
}

impl Survey {
    /// Applies the differences to the tree that was sent in, when that is all that is known.
    ///
    /// # Errors
    /// As [`VolumeState::surveyed`].
    pub fn collect(self, baseline: &Tree) -> Result<Collection, SurveyError> {
        let state = VolumeState::unseen(baseline).surveyed(self, baseline)?;
        Ok(state.collect(baseline))
    }
}

impl Collection {
    /// Lists the files that have to be fetched: changed against `baseline`, be it
    /// their mode alone, not below `.git`, and each content once.
    ///
    /// The bytes of a file that only became executable are fetched, too: what is
    /// applied comes from the session, never from a workspace that can change.
    pub fn wanted(&self, baseline: &Tree) -> Vec<Wanted> {
        let mut digests = BTreeSet::new();
        let mut wanted = Vec::new();
        for (path, entry) in self.tree.iter() {
            let Entry::File { size, digest, .. } = entry else {
                continue;
            };
            let is_old = baseline.get(path) == Some(entry);
            if is_old || path.components().next() == Some(".git") || !digests.insert(*digest) {
                continue;
            }
            wanted.push(Wanted {
                path: path.to_owned(),
                size: *size,
                digest: *digest,
            });
        }
        wanted
    }
}

/// Compares what arrived with what was asked for.
///
/// # Errors
/// The first file that is missing, or has other bytes.
pub fn check_arrived(wanted: &[Wanted], arrived: &Tree) -> Result<(), NotAsSurveyed> {
    for Wanted { path, size, digest } in wanted {
        match arrived.get(path) {
            Some(Entry::File {
                size: arrived_size,
                digest: arrived_digest,
                ..
            }) if arrived_size == size && arrived_digest == digest => {}
            _ => return Err(NotAsSurveyed { path: path.clone() }),
        }
    }
    Ok(())
}
