//! `Unfinished`: an apply, an undo or a redo that a killed launcher left in between.
//!
//! The workspace may hold a part of it, and its journal in the session's directory is the
//! only thing that can make it whole again. So [`Store::lock`] refuses such a session to every
//! verb but `recover`, and [`Store::unfinished_on`] tells those that read or change the same
//! workspace. Nothing else looks for a journal, and nothing removes one.

use std::fmt;
use std::path::Path;

use lazaret_runtime::SessionId;
use lazaret_transfer::{ApplyError, Attempt, HistoryState, WorkspaceDir, history_state};
use lazaret_tree::PathError;
use serde::Serialize;

use super::record::{Record, identity};
use super::store::{SessionDir, Store, StoreError};

/// What was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unfinished {
    /// An apply.
    Apply,
    /// An undo of an apply.
    Undo,
    /// A redo of an apply.
    Redo,
    /// One of them: its journal can't be read.
    Unreadable,
}

impl From<Attempt> for Unfinished {
    fn from(attempt: Attempt) -> Self {
        match attempt {
            Attempt::Apply => Self::Apply,
            Attempt::Undo => Self::Undo,
            Attempt::Redo => Self::Redo,
        }
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Apply => "its apply was cut off",
            Self::Undo => "its undo was cut off",
            Self::Redo => "its redo was cut off",
            Self::Unreadable => "the journal of its apply or undo can't be read",
        })
    }
}

impl Unfinished {
    /// Looks at the journals of a session; `None` when each is finished.
    ///
    /// # Errors
    /// The disk's.
    pub fn of(dir: &SessionDir) -> Result<Option<Self>, PathError> {
        for journal in dir.journals()? {
            match history_state(&journal) {
                Ok(Some(HistoryState::Unfinished(attempt))) => return Ok(Some(attempt.into())),
                Ok(Some(HistoryState::Applied | HistoryState::Undone) | None) => {}
                Err(ApplyError::Io(error)) => return Err(error),
                Err(_) => return Ok(Some(Self::Unreadable)),
            }
        }
        Ok(None)
    }

    /// Returns the sentence that says what to do.
    pub fn hint(id: &SessionId) -> String {
        format!("Recover the session first: `lazaret recover {id}`.")
    }
}

impl Store {
    /// Finds a session whose apply, undo or redo to this workspace, to one in it or to one
    /// around it, was cut off. Those with a launcher at work are left out: theirs is under way.
    ///
    /// # Errors
    /// The disk's, where the state directory itself can't be read.
    pub fn unfinished_on(
        &self,
        workspace: &WorkspaceDir,
    ) -> Result<Option<(SessionId, Unfinished)>, StoreError> {
        for dir in self.list()? {
            let what = match Unfinished::of(&dir) {
                Ok(None) => continue,
                Ok(Some(what)) => what,
                Err(_) => Unfinished::Unreadable,
            };
            let is_here = dir
                .record()
                .is_ok_and(|record| overlaps(&record, workspace));
            // One that is gone by now has no journal either.
            if is_here && matches!(self.is_live(dir.id()), Ok(false)) {
                return Ok(Some((dir.id().clone(), what)));
            }
        }
        Ok(None)
    }
}

/// Whether a session's workspace has entries in common with another one.
fn overlaps(record: &Record, workspace: &WorkspaceDir) -> bool {
    let (theirs, ours): (&Path, &Path) = (&record.workspace, workspace.path());
    record.workspace_identity == identity(workspace.identity())
        || theirs.starts_with(ours)
        || ours.starts_with(theirs)
}
