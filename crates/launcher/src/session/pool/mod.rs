//! The pool: berths that were made before anybody needs them.
//!
//! A place on the [`shelf`] is a volume and a container that runs and waits, for a profile;
//! with a network the gateway's as well. A run takes one that [`fit`]s instead of making its
//! own, and no place is ever taken twice. There is no process that keeps the pool: `pool
//! fill` says how many places a profile should have, and each run of the profile makes what
//! is missing while its command runs.

mod fill;
mod fit;
mod shelf;
mod take;
mod target;

pub use fill::{Filled, Filling, fill, remove};
pub use fit::Fit;
pub(super) use shelf::is_tag;
pub use shelf::{Held, Place, Shelf};
pub(super) use take::take;
pub use target::Targets;
