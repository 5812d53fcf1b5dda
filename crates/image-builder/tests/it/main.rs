//! Integration tests of the crate, one binary.

mod catalog;
mod inspect;
mod recipe;
