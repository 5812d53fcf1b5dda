//! What sessions have in an engine: names, containers, volumes, and how they go again.

pub(crate) mod attempt;
pub mod cleanup;
pub mod containers;
pub mod counted;
pub mod empty;
pub mod info_cache;
pub mod inventory;
pub mod lasting_volume;
pub mod mount;
pub mod owner;
pub mod resources;
pub mod signal;
pub mod tags;
