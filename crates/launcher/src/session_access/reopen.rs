//! What `run`, `sync` and `--dry-run` share: a session that was there before.

use lazaret_runtime::SessionId;
use lazaret_transfer::WorkspaceDir;

use super::waiting::not_waiting;
use crate::failure::Failure;
use lazaret_session::lifecycle::open::fits;
use lazaret_session::store::record::Phase;
use lazaret_session::store::{LockedSession, Store, StoreError};

/// Locks a session to go on with; `None` when there is none of that name.
///
/// # Errors
/// When a launcher is at work on it, was broken off at it, or it is one of another workspace.
pub(crate) fn take(
    store: &Store,
    id: &SessionId,
    workspace: &WorkspaceDir,
) -> Result<Option<LockedSession>, Failure> {
    let session = match store.lock(id) {
        Err(StoreError::NotFound { .. }) => return Ok(None),
        Err(error @ StoreError::Busy { .. }) => {
            return Err(Failure::from(error).hinted(format!(
                "Wait for it, or take another name; `lazaret attach {id}` shows it, `lazaret sync \
                 {id}` sends your edits to a command that runs."
            )));
        }
        other => other?,
    };
    let record = session.record();
    match record.phase {
        Phase::Collected | Phase::Rejected | Phase::Settled => {}
        _ => return Err(not_waiting(record)),
    }
    fits(record, workspace)?;
    Ok(Some(session))
}
