//! Integration tests of the crate, one binary.

mod files;
