//! `PauseLock`: one process at a time looks into a live session, copies into it, or ends its
//! command.
//!
//! It is a lock beside the session's own, which the launcher of a live session holds all the
//! time. Both go with their process (FLT-12).

use std::fs::File;
use std::time::{Duration, Instant};

use crate::cancel::{Cancel, Interrupted};
use crate::store::file_lock::take_lock;
use crate::store::{SessionDir, StoreError};

/// Between two tries.
const TICK: Duration = Duration::from_millis(20);

/// The right to pause the command of a session, or to end it.
#[derive(Debug)]
#[must_use = "dropping it releases the lock"]
pub struct PauseLock {
    _lock: File,
}

/// Why the lock could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum PauseLockError {
    /// Another process holds it for longer than that.
    #[error("another lazaret looks into session {session}, and has for {} s", .after.as_secs())]
    Taken {
        /// The session.
        session: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// The user wants an end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The lock can't be made.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl PauseLock {
    /// Takes the lock if it is free.
    ///
    /// # Errors
    /// When the lock file can't be made.
    pub fn try_take(session: &SessionDir) -> Result<Option<Self>, StoreError> {
        let lock = take_lock(&session.file("copy.lock"))?;
        Ok(lock.map(|lock| Self { _lock: lock }))
    }

    /// Takes the lock, and waits for it as long as `patience` says.
    ///
    /// # Errors
    /// See [`PauseLockError`].
    pub fn take(
        session: &SessionDir,
        patience: Duration,
        cancel: &Cancel,
    ) -> Result<Self, PauseLockError> {
        let give_up = Instant::now() + patience;
        loop {
            if let Some(pause_lock) = Self::try_take(session)? {
                return Ok(pause_lock);
            }
            if Instant::now() >= give_up {
                return Err(PauseLockError::Taken {
                    session: session.id().to_string(),
                    after: patience,
                });
            }
            cancel.sleep(TICK)?;
        }
    }
}
