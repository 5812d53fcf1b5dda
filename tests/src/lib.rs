//! Test kit: the tree language, hostile archives, a model's API. A leaf: it knows no product crate.
//!
//! Everything here panics with a message where a test is wrong or a file system
//! refuses; there is nothing to handle.

pub mod clock;
pub mod git_world;
pub mod hostile_tar;
pub mod model;
pub mod picture;
pub mod privilege;
mod random;
pub mod random_tree;
mod redact;
pub mod tree_text;

pub use random::{Random, fnv};
pub use redact::Redactor;
