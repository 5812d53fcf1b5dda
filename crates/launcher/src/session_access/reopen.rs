//! What `run`, `sync` and `--dry-run` share: a session that was there before.

use lazaret_runtime::SessionId;
use lazaret_transfer::WorkspaceDir;
use lazaret_tree::escape;

use super::waiting::not_waiting;
use crate::failure::{Failure, FailureKind};
use lazaret_session::lifecycle::open::fits;
use lazaret_session::store::record::{Phase, Record, WriteScope};
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

/// Refuses to go on with more of a project than the folder that a session was begun with: its
/// command was never to see the rest.
///
/// # Errors
/// It is another folder, or the whole project.
pub(crate) fn same_folder(
    record: &Record,
    bounds: &WriteScope,
    shared: Option<&[String]>,
) -> Result<(), Failure> {
    let before = record.selection.as_ref();
    let was_alone = before.is_some_and(|before| before.shared.is_some());
    if !was_alone || (shared.is_some() && record.bounds.folder == bounds.folder) {
        return Ok(());
    }
    let id = &record.id;
    let folder = record.bounds.folder.as_deref().unwrap_or_default();
    let text = format!(
        "session {id} has the folder {} of its project alone",
        escape(folder.as_bytes())
    );
    Err(Failure::message(FailureKind::Refused, text)
        .hinted("Ask its group, or name the folder by --workspace with the session's profile."))
}
