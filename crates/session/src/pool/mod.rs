//! The pool: volumes and containers that are made before a run needs them.
//!
//! A slot in the [`PoolStore`] is a volume and a container that runs and waits, for a profile;
//! with a network the gateway's as well. A run takes a slot with the same [`Fingerprint`]
//! instead of making its own, and no slot is ever taken twice. No process keeps the pool:
//! `pool fill` says how many places a profile should have, and each run of the profile makes
//! what is missing while its command runs.
//!
//! A kept session has a volume of its own, so no slot can serve its next run. It has a
//! [`NextContainer`] instead: the container of its next command on that volume, made once the
//! containers of its last one are gone.

mod fill;
mod fit;
mod next_container;
mod next_container_builder;
mod pool_store;
#[cfg(test)]
mod races;
mod take;
mod target;

pub use fill::{Filled, PoolError, fill, remove};
pub use fit::Fingerprint;
pub use next_container::{NextContainer, drop_after_discard, drop_next_container, sweep};
pub(crate) use next_container::{SECOND_LOOK, sweep_all};
pub use next_container_builder::NextContainerBuilder;
pub use pool_store::{LockedSlot, PoolSlot, PoolStore};
pub(crate) use pool_store::{SlotFile, is_tag};
pub(crate) use take::take;
pub use target::PoolSizes;
