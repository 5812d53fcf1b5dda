//! The lock of a workspace: held while its files change.

use std::fs::File;
use std::time::{Duration, Instant};

use lazaret_transfer::WorkspaceDir;
use lazaret_tree::escape;

use crate::failure::{Failure, FailureKind};
use crate::ui::Ui;
use lazaret_session::cancel::Interrupt;
use lazaret_session::store::Store;
use lazaret_session::store::unfinished::Unfinished;

/// How long a launcher waits for another one that changes the same workspace.
const PATIENCE: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(50);

/// Waits until no other launcher changes a workspace, and returns its lock. Two applies to one
/// workspace happen one after the other: what the first one changed, the second one meets as
/// a conflict, or not at all.
///
/// # Errors
/// When another one does not end, or the user interrupts.
pub(crate) fn lock_workspace(
    store: &Store,
    workspace: &WorkspaceDir,
    ui: &Ui,
    interrupt: &Interrupt,
) -> Result<File, Failure> {
    let give_up = Instant::now() + PATIENCE;
    let mut said = false;
    loop {
        if let Some(lock) = store.lock_workspace(workspace)? {
            return Ok(lock);
        }
        if !said {
            ui.status("waiting for another lazaret that changes this workspace");
            said = true;
        }
        if Instant::now() >= give_up {
            let text = "another lazaret is changing this workspace";
            return Err(Failure::message(FailureKind::Refused, text)
                .hinted("Try again when it has finished; the changes are kept."));
        }
        interrupt.sleep(TICK)?;
    }
}

/// As [`lock_workspace`], for a workspace that is whole.
///
/// # Errors
/// As [`lock_workspace`]; also when an apply, an undo or a redo to it was cut off, so that it
/// may hold a part of that.
pub(crate) fn lock_whole_workspace(
    store: &Store,
    workspace: &WorkspaceDir,
    ui: &Ui,
    interrupt: &Interrupt,
) -> Result<File, Failure> {
    let lock = lock_workspace(store, workspace, ui, interrupt)?;
    let Some((id, what)) = store.unfinished_on(workspace)? else {
        return Ok(lock);
    };
    let path = escape(workspace.path().as_os_str().as_encoded_bytes());
    let cause = format!("session {id}: {what}");
    let text = format!("cannot use workspace {path}: it may be half changed ({cause})");
    Err(Failure::message(FailureKind::Refused, text).hinted(Unfinished::hint(&id)))
}
