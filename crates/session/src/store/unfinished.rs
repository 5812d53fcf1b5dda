//! `Unfinished`: an apply, an undo or a redo that a killed launcher left in between.
//!
//! The workspace may hold a part of it, and its journal in the session's directory is the
//! only thing that can make it whole again. So `Store::lock` refuses such a session to every
//! verb but `recover`, and `Store::unfinished_on` tells those that read or change the same
//! workspace. Nothing else looks for a journal, and nothing removes one.

use std::fmt;
use std::path::PathBuf;

use lazaret_transfer::{ApplyError, Attempt, HistoryState, history_state};
use lazaret_tree::PathError;
use serde::Serialize;

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
    /// Looks at the journals of a session's applies; `None` when each is finished.
    ///
    /// # Errors
    /// The disk's.
    pub fn of(journals: &[PathBuf]) -> Result<Option<Self>, PathError> {
        for journal in journals {
            match history_state(journal) {
                Ok(Some(HistoryState::Unfinished(attempt))) => return Ok(Some(attempt.into())),
                Ok(Some(HistoryState::Applied | HistoryState::Undone) | None) => {}
                Err(ApplyError::Io(error)) => return Err(error),
                Err(_) => return Ok(Some(Self::Unreadable)),
            }
        }
        Ok(None)
    }
}
