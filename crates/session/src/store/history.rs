//! The applies of a session: what can be taken back, and done again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lazaret_transfer::{ApplyError, HistoryState, UndoError, history, history_state};
use lazaret_tree::{Change, PathError};

use crate::store::moment::Moment;
use crate::store::record::{Outcome, Phase};
use crate::store::{LockedSession, SessionDir, StoreError};

/// Why what was applied, or taken back, is not known.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// A journal can't be read.
    #[error(transparent)]
    DecisionLog(#[from] ApplyError),
    /// What an apply did can't be read.
    #[error(transparent)]
    Changes(#[from] UndoError),
    /// The session could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// One apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Apply {
    /// Its number, from 1, in the order in which they were made.
    pub number: u32,
    /// Where its journal lies.
    pub journal: PathBuf,
    /// What became of it.
    pub state: HistoryState,
}

impl Apply {
    /// Reads what it did, in path order.
    ///
    /// # Errors
    /// When its journal can't be read any more.
    pub fn changes(&self) -> Result<Vec<Arc<Change>>, HistoryError> {
        let history = history(&self.journal)?;
        Ok(history.map_or(Vec::new(), |history| history.changes))
    }
}

/// Lists the applies of a session, oldest first. One that came to nothing is none.
///
/// # Errors
/// When a journal can't be read.
pub fn applies(dir: &SessionDir) -> Result<Vec<Apply>, HistoryError> {
    let mut applies = Vec::new();
    for journal in dir.journals()? {
        // Of each apply there may be 60 MiB of what it did.
        if let (Some(number), Some(state)) = (number_of(&journal), history_state(&journal)?) {
            applies.push(Apply {
                number,
                state,
                journal,
            });
        }
    }
    Ok(applies)
}

/// Returns the number of the apply whose journal lies there.
pub(crate) fn number_of(journal: &Path) -> Option<u32> {
    journal.file_name()?.to_str()?.parse().ok()
}

/// Notes in the record what became of an apply that was taken back, or done again. Changes
/// that are taken back while others still wait in the session wait with them.
///
/// # Errors
/// When a journal can't be read, or the record not be written.
pub fn write_turn(session: &mut LockedSession, number: u32) -> Result<Outcome, HistoryError> {
    let applies = applies(session.dir())?;
    let is = |state| move |apply: &&Apply| apply.state == state;
    let is_undone = applies
        .iter()
        .filter(is(HistoryState::Undone))
        .any(|apply| apply.number == number);
    let outcome = match applies.iter().find(is(HistoryState::Applied)) {
        Some(_) => Outcome::Applied,
        None => Outcome::Undone,
    };
    session.update(|record| {
        record.undone.retain(|undone| *undone != number);
        if is_undone {
            record.undone.push(number);
        }
        if applies.is_empty() {
            return;
        }
        // What waits beside it was counted without it.
        record.waiting = None;
        record.outcome = Some(match record.phase {
            Phase::Collected if outcome == Outcome::Undone => Outcome::Kept,
            _ => outcome,
        });
        record.settled_at(Moment::now());
    })?;
    Ok(outcome)
}

/// Finds what an undo would take back: the newest apply that is in force.
pub fn to_undo(applies: &[Apply]) -> Option<&Apply> {
    let mut newest = applies.iter().rev();
    newest.find(|apply| apply.state != HistoryState::Undone)
}

/// Finds what a redo would do again: what was taken back last, as `undone` has it in order.
/// Where the record does not say, because a crash kept it from being written, it is the
/// oldest one after the last that is in force.
pub fn to_redo<'a>(applies: &'a [Apply], undone: &[u32]) -> Option<&'a Apply> {
    let is_undone = |apply: &&Apply| apply.state == HistoryState::Undone;
    let known = undone.iter().rev().find_map(|number| {
        let mut undone = applies.iter().filter(is_undone);
        undone.find(|apply| apply.number == *number)
    });
    known.or_else(|| {
        let in_force = applies.iter().rposition(|apply| !is_undone(&apply));
        let after = in_force.map_or(0, |index| index + 1);
        applies.get(after)
    })
}
