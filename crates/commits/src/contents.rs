//! `CommitContents`: what examined commits change, with the contents of their files.

use std::io;

use lazaret_transfer::ObjectId;
use lazaret_tree::{Blobs, ChangeSet, Digest};

use crate::commit::Commit;
use crate::git::GitError;
use crate::history::History;
use crate::quarantine::Quarantine;
use crate::refusal::Refusal;
use crate::snapshot::Snapshot;

/// Reads one commit after the other. Its [`Blobs`] are the contents of the files that the
/// commits change.
#[derive(Debug)]
pub struct CommitContents<'a> {
    snapshot: Snapshot<'a>,
    history: History,
}

impl<'a> CommitContents<'a> {
    /// Starts reading.
    ///
    /// # Errors
    /// When git can't be run.
    pub fn open(quarantine: &'a Quarantine) -> Result<Self, GitError> {
        Ok(Self {
            snapshot: Snapshot::empty(quarantine, quarantine.reader()?),
            history: History::default(),
        })
    }

    /// Returns what an examined commit changes against its first parent.
    ///
    /// # Errors
    /// When an object can't be had.
    pub fn changes(&mut self, id: ObjectId, commit: &Commit) -> Result<ChangeSet, Refusal> {
        let parent = commit.parents.first();
        let before = match parent {
            None => None,
            Some(parent) => Some(self.history.tree(*parent, self.snapshot.reader())?),
        };
        self.snapshot.move_to(before)?;
        self.snapshot.compare(id, Some(commit.tree))
    }
}

impl Blobs for CommitContents<'_> {
    fn open(&self, digest: &Digest) -> io::Result<Box<dyn io::Read + '_>> {
        self.snapshot.open(digest)
    }
}
