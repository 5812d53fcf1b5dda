//! Removes a home, so that the next start makes a fresh one.

use lazaret_runtime::{Engine, EngineError};
use lazaret_tree::PathError;

use super::state::HomeStore;
use crate::engine::inventory::{Inventory, SweepError};
use crate::pool::{PoolError, drop_next_container};
use crate::store::LockedSession;

/// Why a home could not be removed.
#[derive(Debug, thiserror::Error)]
pub enum ResetError {
    /// The next container of the session, which has the home, could not be removed.
    #[error(transparent)]
    NextContainer(#[from] PoolError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Something of the session could not be removed.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
}

/// Removes the home of a session whose command does not run, with what is known of it.
///
/// # Errors
/// The engine's or the disk's; what is gone is no error.
pub fn reset(engine: &dyn Engine, session: &LockedSession) -> Result<(), ResetError> {
    drop_next_container(engine, session)?;
    let record = session.record();
    let all = Inventory::of_store(engine, &record.store)?.of(&record.owner());
    all.home_of(&record.owner()).remove(engine)?;
    Ok(HomeStore::of(session.dir()).remove()?)
}
