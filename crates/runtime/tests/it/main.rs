//! Integration tests of the crate, one binary.

mod api;
mod contract;
mod detect;
mod engine_fixture;
mod engines;
#[path = "../guest/commands.rs"]
mod guest;
mod image;
mod kubernetes;
mod lease;
mod limits;
mod station;
mod weakened;
