//! The pool: volumes and containers that are made before a run needs them.
//!
//! A slot in the [`PoolStore`] is a volume and a container that runs and waits, for a profile;
//! with a network the gateway's as well. A run takes a slot with the same [`Fingerprint`]
//! instead of making its own, and no slot is ever taken twice. No process keeps the pool:
//! `pool fill` says how many places a profile should have, and each run of the profile makes
//! what is missing while its command runs.
//!
//! A kept session has a volume of its own, so no slot serves its next run.

mod fill;
mod fit;
mod pool_store;
#[cfg(test)]
mod races;
mod take;
mod target;

pub use fill::{Filled, PoolError, fill, remove};
pub use fit::Fingerprint;
pub use pool_store::{LockedSlot, PoolSlot, PoolStore};
pub(crate) use pool_store::{SlotFile, is_tag};
pub(crate) use take::take;
pub use target::PoolSizes;
