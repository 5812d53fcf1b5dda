//! The applies of a session: what can be taken back, and done again.

use std::path::PathBuf;

use lazaret_transfer::{History, HistoryState, history};

use super::store::SessionDir;
use crate::failure::Failure;

/// One apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Apply {
    /// Its number, from 1, in the order in which they were made.
    pub number: u32,
    /// Where its journal lies.
    pub journal: PathBuf,
    /// What it did, and what became of it.
    pub history: History,
}

/// Lists the applies of a session, oldest first. One that came to nothing is none.
///
/// # Errors
/// When a journal can't be read.
pub fn applies(dir: &SessionDir) -> Result<Vec<Apply>, Failure> {
    let mut applies = Vec::new();
    for journal in dir.journals()? {
        let number = journal.file_name().and_then(|name| name.to_str());
        let number = number.and_then(|name| name.parse().ok());
        if let (Some(number), Some(history)) = (number, history(&journal)?) {
            applies.push(Apply {
                number,
                journal,
                history,
            });
        }
    }
    Ok(applies)
}

/// Finds what an undo would take back: the newest apply that is in force.
pub fn to_undo(applies: &[Apply]) -> Option<&Apply> {
    let mut newest = applies.iter().rev();
    newest.find(|apply| apply.history.state != HistoryState::Undone)
}

/// Finds what a redo would do again: what was taken back last, as `undone` has it in order.
/// Where the record does not say, because a crash kept it from being written, it is the
/// oldest one after the last that is in force.
pub fn to_redo<'a>(applies: &'a [Apply], undone: &[u32]) -> Option<&'a Apply> {
    let is_undone = |apply: &&Apply| apply.history.state == HistoryState::Undone;
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
