//! Makes the places that a profile should have and does not, and removes those that fit no
//! more.

use lazaret_egress::Policy;
use lazaret_image_builder::Pinned;
use lazaret_runtime::{ContainerLease, EngineError, Limits, Unenforceable};
use lazaret_tree::PathError;

use crate::cancel::Interrupted;
use crate::context::SessionContext;
use crate::engine::inventory::{Inventory, SweepError};
use crate::engine::resources::{Berth, ResourceError, Specs, VolumePresence, Wanted};
use crate::pool::{Fingerprint, Held, PoolStore};
use crate::store::StoreError;

/// Why a place of the pool, or a next container, could not be made or removed.
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

/// What the places of a profile are made from.
#[derive(Debug, Clone)]
pub struct Filling {
    /// The profile's name.
    pub profile: String,
    /// The image, pinned.
    pub image: Pinned,
    /// The porter's image, pinned.
    pub porter: Pinned,
    /// Limits.
    pub limits: Limits,
    /// What may be reached; `None` without a network.
    pub policy: Option<Policy>,
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

impl Filling {
    pub(crate) fn wanted(&self) -> Wanted<'_> {
        Wanted {
            image: &self.image,
            porter: &self.porter,
            limits: &self.limits,
            policy: self.policy.as_ref(),
        }
    }
}

/// Brings the places of a profile on this engine to `count`.
///
/// # Errors
/// The engine's, or the disk's; what was made until then stays.
pub fn fill(
    site: &SessionContext<'_>,
    shelf: &PoolStore,
    filling: &Filling,
    count: u32,
) -> Result<Filled, PoolError> {
    let fit = Fingerprint::of(site, filling.wanted());
    let mut filled = Filled::default();
    for (tag, place) in shelf.ready()? {
        if place.profile != filling.profile || place.engine != site.info.endpoint {
            continue;
        }
        if place.fit == fit && filled.ready < count {
            filled.ready += 1;
        } else if let Some(held) = shelf.hold(&tag)? {
            remove(site, held)?;
            filled.removed += 1;
        }
    }
    while filled.ready + filled.made < count {
        site.interrupt.check()?;
        make(site, shelf, filling, &fit)?;
        filled.made += 1;
    }
    Ok(filled)
}

fn make(
    site: &SessionContext<'_>,
    shelf: &PoolStore,
    filling: &Filling,
    fit: &Fingerprint,
) -> Result<(), PoolError> {
    let held = shelf.begin(&filling.profile, &site.info.endpoint, fit.clone())?;
    let mut berth = Berth::new(held.owner.clone(), VolumePresence::Missing);
    let made = Specs::of(site, &held.owner, filling.wanted())
        .map_err(ResourceError::from)
        .and_then(|specs| berth.make(site, &specs));
    match made {
        Ok(()) => {
            drop(berth.keep().map(ContainerLease::keep));
            Ok(held.ready()?)
        }
        Err(error) => {
            drop(berth);
            held.forget()?;
            Err(error.into())
        }
    }
}

/// Removes a place, and what it has in the engine first.
///
/// # Errors
/// The engine's: the place is still there then.
pub fn remove(site: &SessionContext<'_>, held: Held) -> Result<(), PoolError> {
    Inventory::of_store(&*site.engine, &held.owner.store)?
        .of(&held.owner)
        .unused()
        .remove(&*site.engine)?;
    Ok(held.forget()?)
}
