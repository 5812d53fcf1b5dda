//! Removes a home, so that the next start makes a fresh one.

use lazaret_runtime::{Engine, EngineError};
use lazaret_tree::PathError;

use super::state::HomeStore;
use crate::engine::inventory::Inventory;
use crate::store::LockedSession;

/// Why a home could not be removed.
#[derive(Debug, thiserror::Error)]
pub enum ResetError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
}

/// Removes the home of a session whose command does not run, with what is known of it.
///
/// # Errors
/// The engine's or the disk's; what is gone is no error.
pub fn reset(engine: &dyn Engine, session: &LockedSession) -> Result<(), ResetError> {
    let owner = session.record().owner();
    let all = Inventory::of_store(engine, &owner.store)?.of(&owner);
    // A container that a command left would hold on to it.
    all.remove_transient(engine, &owner)?;
    all.home_of(&owner).remove(engine)?;
    Ok(HomeStore::of(session.dir()).remove()?)
}
