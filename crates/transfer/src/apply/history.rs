//! What was applied, and what became of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lazaret_tree::Change;

use super::journal::{Journal, Phase};
use super::ops::{HostOps, Ops};
use super::store::Store;
use super::undo_error::UndoError;
use super::{ApplyError, load_error};

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
    /// It, or an undo or redo of it, was cut short: [`recover`](super::recover) first.
    Unfinished(Attempt),
}

/// What a crash cut short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// The apply itself.
    Apply,
    /// An undo of it.
    Undo,
    /// A redo of it.
    Redo,
}

impl Attempt {
    /// Returns what the `turns`-th journal of a chain is about; the apply's own is the 0th.
    fn of_turn(turns: usize) -> Self {
        match (turns, turns % 2) {
            (0, _) => Self::Apply,
            (_, 1) => Self::Undo,
            _ => Self::Redo,
        }
    }
}

/// Says what became of the apply in `journal_dir`, by the first lines of its journals alone;
/// `None` when nothing was applied there.
///
/// # Errors
/// When a journal can't be read. Nothing says then that it is finished.
pub fn history_state(journal_dir: &Path) -> Result<Option<HistoryState>, ApplyError> {
    let ops = HostOps::new();
    let phase = |dir: &Path| match Store::open(&ops, dir)? {
        Some(store) => store.phase(&ops).map_err(|error| load_error(dir, error)),
        None => Ok(None),
    };
    let Some(mut last) = phase(journal_dir)? else {
        return Ok(None);
    };
    for turns in 0.. {
        let next = match last {
            Phase::Done => phase(&undo_dir(journal_dir, turns + 1))?,
            Phase::Staging | Phase::Ready | Phase::Committed => None,
        };
        match next {
            Some(phase) => last = phase,
            None => return Ok(Some(HistoryState::of(last, turns))),
        }
    }
    Ok(None)
}

impl HistoryState {
    /// Judges a chain by its last journal, and by how many undos and redos there were.
    fn of(last: Phase, turns: usize) -> Self {
        match (last, turns % 2) {
            (Phase::Done, 0) => Self::Applied,
            (Phase::Done, _) => Self::Undone,
            (Phase::Staging | Phase::Ready | Phase::Committed, _) => {
                Self::Unfinished(Attempt::of_turn(turns))
            }
        }
    }
}

/// Reads the history of the apply in `journal_dir`; `None` when nothing was applied there.
///
/// # Errors
/// When the journals can't be read.
pub fn history(journal_dir: &Path) -> Result<Option<History>, UndoError> {
    let Some(stack) = UndoStack::load(&HostOps::new(), journal_dir, Keep::First)? else {
        return Ok(None);
    };
    let steps = stack.journal.steps.into_iter();
    let mut changes: Vec<Arc<Change>> = steps.map(|step| step.change).collect();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    let state = HistoryState::of(stack.last_phase, stack.turns);
    Ok(Some(History { changes, state }))
}

/// An apply and the undos and redos of it, the last of which counts.
pub(super) struct UndoStack {
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

impl UndoStack {
    pub(super) fn load(
        ops: &dyn Ops,
        journal_dir: &Path,
        keep: Keep,
    ) -> Result<Option<Self>, UndoError> {
        let Some(first) = load(ops, journal_dir)? else {
            return Ok(None);
        };
        let mut stack = Self {
            last_phase: first.phase,
            journal: first,
            last_dir: journal_dir.to_path_buf(),
            turns: 0,
        };
        loop {
            let dir = undo_dir(journal_dir, stack.turns + 1);
            let Some(journal) = load(ops, &dir)? else {
                return Ok(Some(stack));
            };
            stack.turns += 1;
            stack.last_phase = journal.phase;
            if keep == Keep::Last {
                stack.journal = journal;
            }
            stack.last_dir = dir;
        }
    }
}

/// Where the `index`-th undo or redo of a transaction is journaled.
pub(crate) fn undo_dir(journal_dir: &Path, index: usize) -> PathBuf {
    journal_dir.join(format!("undo-{index}"))
}

fn load(ops: &dyn Ops, dir: &Path) -> Result<Option<Journal>, UndoError> {
    let Some(store) = Store::open(ops, dir).map_err(ApplyError::from)? else {
        return Ok(None);
    };
    let journal = store.load(ops).map_err(|error| load_error(dir, error))?;
    Ok(journal)
}
