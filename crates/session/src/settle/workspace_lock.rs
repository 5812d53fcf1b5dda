//! The lock of a workspace: held while its files change.

use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lazaret_runtime::SessionId;
use lazaret_transfer::WorkspaceDir;
use lazaret_tree::escape;

use crate::cancel::{Cancel, Interrupted};
use crate::event::{Event, EventSink};
use crate::store::unfinished::Unfinished;
use crate::store::{Store, StoreError};

/// How long a launcher waits for another one that changes the same workspace.
const PATIENCE: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(50);

/// Why a workspace can't be changed now.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceLockError {
    /// Another launcher did not end in time.
    #[error("another lazaret is changing this workspace")]
    Busy,
    /// An apply, an undo or a redo to it was cut off, so that it may hold a part of that.
    #[error(
        "cannot use workspace {}: it may be half changed (session {id}: {what})",
        escape(.workspace.as_os_str().as_encoded_bytes())
    )]
    HalfChanged {
        /// Where it is.
        workspace: PathBuf,
        /// Whose apply it was.
        id: SessionId,
        /// What was cut off.
        what: Unfinished,
    },
    /// The user broke off.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Waits until no other launcher changes a workspace, and returns its lock. Two applies to one
/// workspace happen one after the other: what the first one changed, the second one meets as
/// a conflict, or not at all.
///
/// # Errors
/// When another one does not end within a minute, or the user interrupts.
pub fn lock_workspace(
    store: &Store,
    workspace: &WorkspaceDir,
    events: &dyn EventSink,
    cancel: &Cancel,
) -> Result<File, WorkspaceLockError> {
    let give_up = Instant::now() + PATIENCE;
    let mut is_told = false;
    loop {
        if let Some(lock) = store.lock_workspace(workspace)? {
            return Ok(lock);
        }
        if !is_told {
            events.event(Event::WaitingForWorkspace);
            is_told = true;
        }
        if Instant::now() >= give_up {
            return Err(WorkspaceLockError::Busy);
        }
        cancel.sleep(TICK)?;
    }
}

/// As [`lock_workspace`], for a workspace that is whole.
///
/// # Errors
/// As [`lock_workspace`]; also [`WorkspaceLockError::HalfChanged`].
pub fn lock_whole_workspace(
    store: &Store,
    workspace: &WorkspaceDir,
    events: &dyn EventSink,
    cancel: &Cancel,
) -> Result<File, WorkspaceLockError> {
    let lock = lock_workspace(store, workspace, events, cancel)?;
    match store.unfinished_on(workspace)? {
        None => Ok(lock),
        Some((id, what)) => Err(WorkspaceLockError::HalfChanged {
            workspace: workspace.path().to_path_buf(),
            id,
            what,
        }),
    }
}
