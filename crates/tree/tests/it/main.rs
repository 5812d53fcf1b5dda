//! Integration tests of the crate, one binary.

mod diff;
mod escape;
mod rel_path;
mod renames;
