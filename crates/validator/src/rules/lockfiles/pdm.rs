//! `pdm.lock`: files with the package since version 4, in `[metadata.files]` before.

use std::borrow::Cow;

use super::lock::{Lock, LockedPackage, LockedPackages, Repetition};
use super::poetry::normalized;
use super::source::{Address, Source};
use super::{required, text_in};
use crate::rules::structured::{Unreadable, Value, toml};

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let document = toml::read(text)?;
    let metadata = document.root.get("metadata");
    let apart = metadata.and_then(|metadata| metadata.get("files"));
    let mut locked_packages = LockedPackages::default();
    let packages = document.root.get("package").map_or(&[][..], Value::items);
    for package in packages {
        let name = required(package, "name")?;
        let version = text_in(package, "version")?.unwrap_or_default();
        let source = read_source(package)?;
        let listed = package.get("files");
        let key = format!("{name} {version}");
        let listed = listed.or_else(|| apart.and_then(|apart| apart.get(&key)));
        let locked_package = LockedPackage::new(package.at, normalized(name), version, source);
        for file in listed.map_or(&[][..], Value::items) {
            let (source, name) = match text_in(file, "url")? {
                Some(url) => (Source::web(url.clone()), file_name(url)),
                None => (locked_package.source.clone(), required(file, "file")?),
            };
            locked_packages.push(LockedPackage {
                file: name,
                at: file.at,
                source,
                ..locked_package.clone().hashed(text_in(file, "hash")?)
            })?;
        }
        locked_packages.push(locked_package)?;
    }
    Ok(Lock {
        locked_packages: locked_packages.into_vec(),
        // One statement for each set of extras.
        repetition: Repetition::Ordinary,
        repeated: document.repeated,
        trusted: Vec::new(),
    })
}

fn read_source<'a>(package: &Value<'a>) -> Result<Source<'a>, Unreadable> {
    if let Some(address) = text_in(package, "git")? {
        let revision = text_in(package, "revision")?.unwrap_or_default();
        return Ok(Source::Git(Address::new(address), revision));
    }
    if let Some(url) = text_in(package, "url")? {
        return Ok(Source::web(url));
    }
    let path = text_in(package, "path")?;
    Ok(path.map_or(Source::Unstated, Source::Path))
}

/// The last component of an address: what the file is called.
pub(super) fn file_name(place: Cow<'_, str>) -> Cow<'_, str> {
    let end = place.find(['?', '#']).unwrap_or(place.len());
    let name = place.get(..end).unwrap_or_default().rsplit('/').next();
    match name {
        Some(name) if !name.is_empty() => Cow::Owned(name.to_owned()),
        _ => place,
    }
}
