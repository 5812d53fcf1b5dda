//! Images: resolving their layers, assembling, loading, verifying, listing and removing them.

pub(crate) mod archive;
pub(crate) mod assemble;
pub(crate) mod build;
mod config;
mod export;
pub(crate) mod inspect;
pub(crate) mod install_step;
pub(crate) mod installed;
mod layers;
pub(crate) mod overlaps;
pub(crate) mod prune;
mod sbom;
pub(crate) mod status;
pub(crate) mod verify;
