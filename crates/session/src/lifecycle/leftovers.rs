//! Removes what a command left in the engine that its session needs no more.

use lazaret_runtime::Engine;

use crate::engine::inventory::{Inventory, SweepError};
use crate::store::LockedSession;

/// Removes the containers of a session that is at rest, and the sockets of its gateway. Its
/// volumes stay.
///
/// # Errors
/// The engine's.
pub fn remove_leftovers(engine: &dyn Engine, session: &LockedSession) -> Result<(), SweepError> {
    let owner = session.record().owner();
    let all = Inventory::of_store(engine, &owner.store)?.of(&owner);
    Ok(all.remove_transient(engine, &owner)?)
}
