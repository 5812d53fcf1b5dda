//! Notes that commits of a session are in the user's repository.

use std::collections::{BTreeMap, BTreeSet};

use lazaret_transfer::{ObjectId, Tips};

use crate::store::deferred_sync::DeferredSync;
use crate::store::sync_state::add_tips;
use crate::store::{LockedSession, StoreError};
use lazaret_tree::{PathError, RelPathBuf, escape};

/// Why it was not noted. What was landed is there, and landing it again changes nothing.
#[derive(Debug, thiserror::Error)]
pub enum NoteError {
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// The record could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Notes which objects were landed, by where their repository lies inside: they are the user's from then on, also for later
/// collections of a kept session, and no longer wait. `holding` names what was landed and holds
/// all changes of files that wait.
///
/// # Errors
/// The disk's.
pub fn note_landed(
    session: &mut LockedSession,
    landed: &BTreeMap<RelPathBuf, BTreeSet<ObjectId>>,
    holding: Option<String>,
) -> Result<(), NoteError> {
    let tips: Tips = landed.values().flatten().copied().collect();
    let mut deferred = DeferredSync::default();
    add_tips(session.dir(), &tips, &mut deferred)?;
    deferred.sync()?;
    let texts = landed.iter().map(|(repository, ids)| {
        let ids = ids.iter().map(ToString::to_string).collect();
        (escape(repository.as_str().as_bytes()), ids)
    });
    let landed = texts.collect();
    session.update(|record| {
        record.commits.remove_landed(&landed);
        record.landed_as = holding.or(record.landed_as.take());
    })?;
    Ok(())
}
