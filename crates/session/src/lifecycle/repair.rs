//! Finishes what a killed launcher left of an undo or a redo, without any engine.

use lazaret_transfer::{
    ApplyError, Attempt, HistoryState, NotRestored, RecoverError, Recovered, history_state, recover,
};
use lazaret_tree::PathError;

use crate::store::LockedSession;
use crate::store::history::{HistoryError, number_of, write_turn};
use crate::store::record::Phase;

/// Why an undo or a redo that was cut off could not be finished.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// Its journal can't be read.
    #[error(transparent)]
    DecisionLog(#[from] ApplyError),
    /// It could not be taken to an end.
    #[error(transparent)]
    Recover(#[from] RecoverError),
    /// What is in force then could not be written down.
    #[error(transparent)]
    History(#[from] HistoryError),
}

/// An undo, a redo, or an apply of which the record does not know, that was finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// What had been cut off.
    pub attempt: Attempt,
    /// Which tree the workspace has now.
    pub end: End,
    /// Paths that changed meanwhile, so that they were left.
    pub not_restored: Vec<NotRestored>,
}

/// Which way it was finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It was taken back: the workspace is as it was before it.
    RolledBack,
    /// It had happened: the workspace is as it is after it.
    Completed,
}

/// Finishes every undo and redo of a session that was cut off, and writes down what is in
/// force then. The apply that [`Phase::Applying`] names is not touched: it is
/// [`resume`](crate::lifecycle::recover::resume)'s. The caller has the lock of the workspace.
///
/// # Errors
/// When a journal can't be read, or the workspace is not where it was. Nothing is removed
/// then, and repeating it goes on.
pub fn repair(session: &mut LockedSession) -> Result<Vec<Repaired>, RepairError> {
    let mut repaired = Vec::new();
    let applying = match session.record().phase {
        Phase::Applying => session.record().applying,
        _ => None,
    };
    for journal in session.dir().journals()? {
        let number = number_of(&journal);
        if number.is_some() && number == applying {
            continue;
        }
        let attempt = match history_state(&journal) {
            Ok(Some(HistoryState::Unfinished(attempt))) => attempt,
            Ok(_) => continue,
            // What it says of a journal that can't be read is more than that it can't.
            Err(error) => {
                let _unreadable = recover(&journal)?;
                return Err(error.into());
            }
        };
        let (end, not_restored) = match recover(&journal)? {
            Recovered::RolledBack { not_restored } => (End::RolledBack, not_restored),
            Recovered::Completed | Recovered::Nothing => (End::Completed, Vec::new()),
        };
        if let Some(number) = number {
            write_turn(session, number)?;
        }
        repaired.push(Repaired {
            attempt,
            end,
            not_restored,
        });
    }
    Ok(repaired)
}
