//! Integration tests of the crate, one binary.

mod build;
mod catalog;
mod inspect;
mod mini_registry;
mod own;
mod prune;
mod real;
mod recipe;
mod registry;
mod sources;
mod store;
