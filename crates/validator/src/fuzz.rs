//! Doors for fuzz targets: the readers of lockfiles and manifests.
//!
//! Each call asserts what must hold of any input (messages are short and escaped, a file
//! compared with itself has not changed), and returns whether the input could be read.
//! [`lockfile_samples`] and [`manifest_samples`] have a seed for each format.

use crate::rules::{lockfiles, manifests};
pub use crate::samples::{Sample, lockfiles as lockfile_samples, manifests as manifest_samples};

/// Returns the names of lockfiles, in lower case.
pub fn lockfile_names() -> Vec<&'static str> {
    lockfiles::properties::names().collect()
}

/// Returns the names of manifests, in lower case.
pub fn manifest_names() -> Vec<&'static str> {
    manifests::properties::names().collect()
}

/// Reads a lockfile that is new.
pub fn lockfile(name: &str, bytes: &[u8]) -> bool {
    lockfiles::properties::exercise(name, b"\0", bytes)
}

/// Reads both sides of a lockfile and compares them.
pub fn lockfile_change(name: &str, before: &[u8], after: &[u8]) -> bool {
    lockfiles::properties::exercise(name, before, after)
}

/// Reads a manifest that is new.
pub fn manifest(name: &str, bytes: &[u8]) -> bool {
    manifests::properties::exercise(name, b"\0", bytes)
}

/// Reads both sides of a manifest and compares them.
pub fn manifest_change(name: &str, before: &[u8], after: &[u8]) -> bool {
    manifests::properties::exercise(name, before, after)
}
