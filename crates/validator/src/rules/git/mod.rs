//! Rules about repositories, and about the files that git reads from a working tree.

pub(crate) mod attributes;
pub(crate) mod hidden;
pub(crate) mod ignored;
pub(crate) mod ignores;
pub(crate) mod names;
pub(crate) mod repository;
pub(crate) mod runs;
pub(crate) mod submodules;
