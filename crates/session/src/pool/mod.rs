//! The pool: volumes and containers that are made before a run needs them.
//!
//! A place in the [`PoolStore`] is a volume and a container that runs and waits, for a profile;
//! with a network the gateway's as well. A run takes a place with the same [`Fingerprint`]
//! instead of making its own, and no place is ever taken twice. No process keeps the pool:
//! `pool fill` says how many places a profile should have, and each run of the profile makes
//! what is missing while its command runs.
//!
//! A kept session has a volume of its own, so no place can serve its next run. It has a
//! [`NextContainer`] instead: the container of its next command on that volume, made once the
//! containers of its last one are gone.

mod ahead;
mod fill;
mod fit;
#[cfg(test)]
mod races;
mod shelf;
mod spare;
mod take;
mod target;

pub use ahead::Ahead;
pub use fill::{Filled, PoolError, fill, remove};
pub use fit::Fingerprint;
pub use shelf::{Held, PoolSlot, PoolStore};
pub(crate) use shelf::{PlaceFile, is_tag};
pub use spare::{NextContainer, drop_spare, let_go, sweep};
pub(crate) use spare::{SECOND_LOOK, sweep_all};
pub(crate) use take::take;
pub use target::PoolSizes;
