//! Integration tests of the crate, one binary.

mod build;
mod catalog;
mod inspect;
mod real;
mod recipe;
mod registry;
mod store;
