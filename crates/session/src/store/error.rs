//! `StoreError`: what goes wrong with the sessions on disk.

use lazaret_runtime::{NameError, SessionId};
use lazaret_tree::PathError;

use crate::store::record::RecordError;
use crate::store::unfinished::Unfinished;

/// What went wrong with the sessions on disk.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The state directory can't be read or written.
    #[error("the state directory can't be used: {0}")]
    Io(#[from] PathError),
    /// There is no such session.
    #[error("there is no session named {id}")]
    NotFound {
        /// The session.
        id: SessionId,
    },
    /// The name is taken.
    #[error("a session named {id} exists already")]
    Exists {
        /// The session.
        id: SessionId,
    },
    /// Another launcher works on it.
    #[error("session {id} is in use by another lazaret")]
    Busy {
        /// The session.
        id: SessionId,
    },
    /// An apply, an undo or a redo of it was cut off.
    #[error("cannot use session {id}: {what}, so its workspace may be half changed")]
    Unfinished {
        /// The session.
        id: SessionId,
        /// What was cut off.
        what: Unfinished,
    },
    /// Its record can't be understood.
    #[error("session {id}: {source}")]
    Record {
        /// The session.
        id: SessionId,
        /// The cause.
        source: RecordError,
    },
    /// No free name could be made from the workspace's name.
    #[error(transparent)]
    Name(#[from] NameError),
}
