//! `go.sum`: `MODULE VERSION[/go.mod] HASH` per line. It names no source.

use std::borrow::Cow;

use super::lock::{Lock, LockedPackage, LockedPackages, Repetition};
use super::source::Source;
use crate::rules::structured::{Unreadable, offset};

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let mut locked_packages = LockedPackages::default();
    let mut start = 0;
    for line in text.split('\n') {
        let at = offset(start);
        start += line.len() + 1;
        let mut words = line.split_ascii_whitespace();
        let Some(name) = words.next() else { continue };
        let (Some(version), Some(hash), None) = (words.next(), words.next(), words.next()) else {
            return Err(Unreadable::at(at, "is not a module, a version and a hash"));
        };
        if !version.starts_with('v') || !hash.contains(':') {
            return Err(Unreadable::at(at, "is not a module, a version and a hash"));
        }
        let (version, file) = match version.strip_suffix("/go.mod") {
            Some(version) => (version, "go.mod"),
            None => (version, ""),
        };
        let locked_package = LockedPackage::new(at, name, version, Source::Unstated);
        let locked_package = locked_package.hashed(Some(Cow::Borrowed(hash)));
        locked_packages.push(LockedPackage {
            file: Cow::Borrowed(file),
            ..locked_package
        })?;
    }
    Ok(Lock {
        locked_packages: locked_packages.into_vec(),
        repetition: Repetition::Ordinary,
        repeated: Vec::new(),
        trusted: Vec::new(),
    })
}
