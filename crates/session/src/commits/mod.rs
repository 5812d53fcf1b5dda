//! Commits that were made inside.
//!
//! No git of the host's ever runs in a repository that an agent could write to. Its commits
//! leave the volume as a pack, which [`packer`] has made in a container. The user's go in by
//! [`both_ways`].

pub(crate) mod both_ways;
mod capped;
pub mod copy_refs;
pub mod fetch;
mod git_container;
pub mod history_source;
pub mod landed;
pub mod packer;
pub mod repository_news;
pub mod signed;
