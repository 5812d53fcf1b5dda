//! Commits that were made inside.
//!
//! No git of the host's ever runs in a repository that an agent could write to. Its commits
//! leave the volume as a pack, which [`packer`] has made in a container.

mod capped;
pub mod fetch;
pub mod landed;
pub mod packer;
pub mod signed;
