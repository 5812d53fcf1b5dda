//! `Cargo.lock`, versions 1 to 4.
//!
//! Version 1 keeps the hashes apart, as `"checksum NAME VERSION (SOURCE)"` in
//! `[metadata]`; from 2 on they stand with the package.

use std::borrow::Cow;
use std::collections::HashMap;

use super::lock::{Lock, LockedPackage, LockedPackages, Repetition};
use super::source::{Address, Source};
use super::{required, text_in};
use crate::rules::structured::{Unreadable, toml};

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let document = toml::read(text)?;
    let root = &document.root;
    let metadata = root
        .get("metadata")
        .map_or(&[][..], |table| table.entries());
    let checksums: HashMap<&str, &Cow<'_, str>> = metadata
        .iter()
        .filter_map(|(key, value)| Some((&**key, value.text()?)))
        .collect();
    let unused = root.get("patch").and_then(|patch| patch.get("unused"));
    let packages = [root.get("package"), unused, root.get("root")];
    let mut locked_packages = LockedPackages::default();
    for list in packages.into_iter().flatten() {
        let packages = match list.items() {
            // `[root]` is the table itself.
            [] => std::slice::from_ref(list),
            packages => packages,
        };
        for package in packages {
            let name = required(package, "name")?;
            let version = required(package, "version")?;
            let stated = text_in(package, "source")?;
            let old = || {
                let source = stated.as_deref()?;
                let key = format!("checksum {name} {version} ({source})");
                checksums.get(key.as_str()).copied().cloned()
            };
            let integrity = text_in(package, "checksum")?.or_else(old);
            let source = source(stated.clone());
            let locked_package = LockedPackage::new(package.at, name, version, source);
            locked_packages
                .push(locked_package.hashed(integrity.filter(|hash| hash != "<none>")))?;
        }
    }
    Ok(Lock {
        locked_packages: locked_packages.into_vec(),
        repetition: Repetition::Odd,
        repeated: document.repeated,
        trusted: Vec::new(),
    })
}

/// `registry+URL`, `sparse+URL`, `git+URL#revision`; none for what the workspace holds.
fn source(text: Option<Cow<'_, str>>) -> Source<'_> {
    match text {
        None => Source::Path(Cow::Borrowed("")),
        Some(text) if text.starts_with("git+") => Source::git(text),
        Some(text) if text.starts_with("path+") => Source::Path(text),
        Some(text) => Source::Web(Address::new(text)),
    }
}
