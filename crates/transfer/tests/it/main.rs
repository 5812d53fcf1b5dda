//! Integration tests of the crate, one binary.

mod stream;
mod tar_names;
