//! `UndoError`: why a transaction was not undone, or not redone.

use std::path::PathBuf;

use super::ApplyError;

/// Why a transaction was not undone, or not redone.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// There is none in this directory.
    #[error("nothing was applied from {path}", path = .path.display())]
    Nothing {
        /// The journal's directory.
        path: PathBuf,
    },
    /// It was cut short: `recover` first.
    #[error("the last apply or undo was cut short; recover it first")]
    Unfinished,
    /// It has been undone already (APP-19).
    #[error("it has been undone already")]
    AlreadyUndone,
    /// It has not been undone, so there is nothing to redo.
    #[error("it has not been undone")]
    NotUndone,
    /// The inverse changes can't be applied; conflicts are among the reasons (APP-18).
    #[error(transparent)]
    Apply(#[from] ApplyError),
}
