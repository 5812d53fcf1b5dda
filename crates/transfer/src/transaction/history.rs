//! What was applied, and what became of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ops::{HostOps, Ops};
use super::store::Store;
use super::undo::{UndoError, undo_dir};
use super::{ApplyError, load_error};
use crate::Change;
use crate::journal::{Journal, Phase};

/// One apply, as its journals tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// What it did, in path order: what was there before, and what it put there.
    pub changes: Vec<Arc<Change>>,
    /// What became of it.
    pub state: HistoryState,
}

/// What became of an apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryState {
    /// It is in force: [`undo`](super::undo) takes it back.
    Applied,
    /// It was taken back: [`redo`](super::redo) does it again.
    Undone,
    /// It, or its undo, was cut short: [`recover`](super::recover) first.
    Unfinished,
}

/// Reads the history of the apply in `journal_dir`; `None` when nothing was applied there.
///
/// # Errors
/// When the journals can't be read.
pub fn history(journal_dir: &Path) -> Result<Option<History>, UndoError> {
    let Some(chain) = Chain::load(&HostOps::new(), journal_dir, Keep::First)? else {
        return Ok(None);
    };
    let steps = chain.journal.steps.into_iter();
    let mut changes: Vec<Arc<Change>> = steps.map(|step| step.change).collect();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    let state = match (chain.last_phase, chain.turns % 2) {
        (Phase::Done, 0) => HistoryState::Applied,
        (Phase::Done, _) => HistoryState::Undone,
        (Phase::Staging | Phase::Ready | Phase::Committed, _) => HistoryState::Unfinished,
    };
    Ok(Some(History { changes, state }))
}

/// An apply and the undos and redos of it, the last of which counts.
pub(super) struct Chain {
    /// The one that was asked for: of a large batch each takes 70 MiB.
    pub(super) journal: Journal,
    pub(super) last_phase: Phase,
    pub(super) last_dir: PathBuf,
    /// How many undos and redos there were.
    pub(super) turns: usize,
}

/// Which journal of a chain is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// What the apply did.
    First,
    /// What was done last: the apply, an undo or a redo.
    Last,
}

impl Chain {
    pub(super) fn load(
        ops: &dyn Ops,
        journal_dir: &Path,
        keep: Keep,
    ) -> Result<Option<Self>, UndoError> {
        let Some(first) = load(ops, journal_dir)? else {
            return Ok(None);
        };
        let mut chain = Self {
            last_phase: first.phase,
            journal: first,
            last_dir: journal_dir.to_path_buf(),
            turns: 0,
        };
        loop {
            let dir = undo_dir(journal_dir, chain.turns + 1);
            let Some(journal) = load(ops, &dir)? else {
                return Ok(Some(chain));
            };
            chain.turns += 1;
            chain.last_phase = journal.phase;
            if keep == Keep::Last {
                chain.journal = journal;
            }
            chain.last_dir = dir;
        }
    }
}

fn load(ops: &dyn Ops, dir: &Path) -> Result<Option<Journal>, UndoError> {
    let Some(store) = Store::open(ops, dir).map_err(ApplyError::from)? else {
        return Ok(None);
    };
    let journal = store.load(ops).map_err(|error| load_error(dir, error))?;
    Ok(journal)
}
