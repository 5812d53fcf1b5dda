//! Integration tests of the crate, one binary.

mod build;
mod catalog;
mod combined;
mod inspect;
mod mini_registry;
mod own;
mod prune;
mod real;
mod registry;
mod sources;
mod spec;
mod store;
