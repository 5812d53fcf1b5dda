//! Makes the places that a profile should have and does not, and removes those that fit no
//! more.

use lazaret_runtime::{ContainerLease, EngineError, Unenforceable};
use lazaret_tree::PathError;

use crate::cancel::Interrupted;
use crate::context::SessionContext;
use crate::engine::containers::{ContainerPlan, ContainerSpecs};
use crate::engine::inventory::{Inventory, SweepError};
use crate::engine::resources::{ResourceError, Resources, VolumePresence};
use crate::pool::{Fingerprint, LockedSlot, PoolStore};
use crate::store::StoreError;

/// Why a slot of the pool could not be made or removed.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// The user wants an end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// A volume or a container could not be made.
    #[error(transparent)]
    Resources(#[from] ResourceError),
    /// The engine can't enforce a control.
    #[error(transparent)]
    Unenforceable(#[from] Unenforceable),
    /// The session could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// What an earlier command left could not be removed.
    #[error(transparent)]
    Sweep(#[from] SweepError),
}

/// What was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filled {
    /// Places that fit and were there.
    pub ready: u32,
    /// Places that were made.
    pub made: u32,
    /// Places that were removed: they fit no more, or were too many.
    pub removed: u32,
}

/// Brings the places of a profile on this engine to `count`; to none if the profile has volumes,
/// which belong to a session that is not there yet.
///
/// # Errors
/// The engine's, or the disk's; what was made until then stays.
pub fn fill(
    cx: &SessionContext<'_>,
    pool: &PoolStore,
    plan: &ContainerPlan,
    count: u32,
) -> Result<Filled, PoolError> {
    let fit = Fingerprint::of(cx, plan);
    let count = match plan.mounts.is_empty() {
        true => count,
        false => 0,
    };
    let mut filled = Filled::default();
    for (tag, slot) in pool.ready()? {
        if slot.profile != plan.profile || slot.engine != cx.info.endpoint {
            continue;
        }
        if slot.fit == fit && filled.ready < count {
            filled.ready += 1;
        } else if let Some(locked) = pool.lock(&tag)? {
            remove(cx, locked)?;
            filled.removed += 1;
        }
    }
    while filled.ready + filled.made < count {
        cx.cancel.check()?;
        make(cx, pool, plan, &fit)?;
        filled.made += 1;
    }
    Ok(filled)
}

fn make(
    cx: &SessionContext<'_>,
    pool: &PoolStore,
    plan: &ContainerPlan,
    fit: &Fingerprint,
) -> Result<(), PoolError> {
    let locked = pool.begin(&plan.profile, &cx.info.endpoint, fit.clone())?;
    let mut resources = Resources::new(locked.owner.clone(), VolumePresence::Missing);
    let made = ContainerSpecs::of(cx, &locked.owner, plan)
        .map_err(ResourceError::from)
        .and_then(|specs| resources.make(cx, &specs));
    match made {
        Ok(()) => {
            drop(resources.keep().map(ContainerLease::keep));
            Ok(locked.ready()?)
        }
        Err(error) => {
            drop(resources);
            locked.forget()?;
            Err(error.into())
        }
    }
}

/// Removes a slot, and what it has in the engine first.
///
/// # Errors
/// The engine's: the slot is still there then.
pub fn remove(cx: &SessionContext<'_>, locked: LockedSlot) -> Result<(), PoolError> {
    Inventory::of_store(&*cx.engine, &locked.owner.store)?
        .of(&locked.owner)
        .unused()
        .remove(&*cx.engine)?;
    Ok(locked.forget()?)
}
