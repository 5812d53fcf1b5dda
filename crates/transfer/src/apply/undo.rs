//! Taking a committed transaction back, as a transaction of its own.

use std::collections::BTreeMap;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::Arc;

use lazaret_tree::{Change, RelPath};

use super::history::{Keep, UndoStack, undo_dir};
use super::journal::Phase;
use super::ops::{HostOps, Ops};
use super::prepare::{Request, prepare_with};
use super::store::Store;
use super::undo_error::UndoError;
use super::{ApplyError, ApplyReceipt, Restore};
use crate::WorkspaceDir;

/// Takes the transaction in `journal_dir` back: contents, modes, extended attributes, access
/// control lists, and times of files as they were. A path that was changed since is a conflict, and then
/// nothing is done. The undo itself can be undone by [`redo`].
///
/// # Errors
/// As [`UndoError`] says; nothing is changed then.
pub fn undo(journal_dir: &Path, workspace: &WorkspaceDir) -> Result<ApplyReceipt, UndoError> {
    undo_or_redo(
        Arc::new(HostOps::new()),
        journal_dir,
        workspace,
        Direction::Undo,
    )
}

/// Takes the undo of the transaction in `journal_dir` back.
///
/// # Errors
/// As [`UndoError`] says; nothing is changed then.
pub fn redo(journal_dir: &Path, workspace: &WorkspaceDir) -> Result<ApplyReceipt, UndoError> {
    undo_or_redo(
        Arc::new(HostOps::new()),
        journal_dir,
        workspace,
        Direction::Redo,
    )
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Undo,
    Redo,
}

pub(crate) fn undo_or_redo(
    ops: Arc<dyn Ops>,
    journal_dir: &Path,
    workspace: &WorkspaceDir,
    direction: Direction,
) -> Result<ApplyReceipt, UndoError> {
    let stack =
        UndoStack::load(&*ops, journal_dir, Keep::Last)?.ok_or_else(|| UndoError::Nothing {
            path: journal_dir.to_path_buf(),
        })?;
    let (last, last_dir, turns) = (&stack.journal, &stack.last_dir, stack.turns);
    if last.phase != Phase::Done {
        return Err(UndoError::Unfinished);
    }
    match (direction, turns % 2) {
        (Direction::Undo, 1) => return Err(UndoError::AlreadyUndone),
        (Direction::Redo, 0) => return Err(UndoError::NotUndone),
        _ => {}
    }
    let steps = last.steps.iter();
    let restore: BTreeMap<&RelPath, Restore> = steps
        .filter_map(|step| {
            let old = step.old.as_ref()?;
            let restore = Restore {
                mode: old.mode,
                mtime: old.mtime,
                attributes: old.attributes.as_deref().copied(),
            };
            Some((&*step.change.path, restore))
        })
        .collect();
    let inverse: Vec<Arc<Change>> = last
        .steps
        .iter()
        .map(|step| {
            Arc::new(Change {
                path: step.change.path.clone(),
                before: step.change.after.clone(),
                after: step.change.before.clone(),
            })
        })
        .collect();
    let store = Store::open(&*ops, last_dir).map_err(ApplyError::from)?;
    let store = store.ok_or_else(|| UndoError::Nothing {
        path: last_dir.clone(),
    })?;
    let kept = store.kept_blobs(&*ops).map_err(ApplyError::from)?;
    let request = Request {
        root: workspace.as_fd(),
        root_path: workspace.path(),
        changes: &inverse,
        restore: &|path| restore.get(path).copied(),
        journal_dir: &undo_dir(journal_dir, turns + 1),
    };
    let transaction = prepare_with(Arc::clone(&ops), &request, &kept)?;
    Ok(transaction.commit()?)
}
