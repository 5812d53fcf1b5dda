//! Integration tests of the crate, one binary.

mod api;
mod bench;
mod contract;
mod detect;
mod engines;
#[path = "../guest/commands.rs"]
mod guest;
mod image;
mod lease;
mod limits;
mod station;
mod weakened;
