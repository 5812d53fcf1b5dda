//! `poetry.lock`: files with the package since 1.5, in `[metadata]` before.

use std::borrow::Cow;
use std::collections::HashMap;

use super::lock::{Lock, LockedPackage, LockedPackages, Repetition};
use super::source::{Address, Source};
use super::{required, text_in};
use crate::rules::structured::{Unreadable, Value, toml};

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let document = toml::read(text)?;
    let metadata = document.root.get("metadata");
    let apart = |key: &str| {
        let table = metadata.and_then(|metadata| metadata.get(key));
        let entries = table.map_or(&[][..], Value::entries).iter();
        entries.map(|(name, files)| (&**name, files)).collect()
    };
    let files: HashMap<&str, &Value<'_>> = apart("files");
    let hashes: HashMap<&str, &Value<'_>> = apart("hashes");
    let mut locked_packages = LockedPackages::default();
    let packages = document.root.get("package").map_or(&[][..], Value::items);
    for package in packages {
        let name = required(package, "name")?;
        let version = required(package, "version")?;
        let source = match package.get("source") {
            Some(source) => read_source(source)?,
            None => Source::Unstated,
        };
        let own = package.get("files").or_else(|| files.get(&*name).copied());
        let listed = own.map_or(&[][..], Value::items);
        let bare = hashes.get(&*name).map_or(&[][..], |list| list.items());
        let locked_package = LockedPackage::new(package.at, normalized(name), version, source);
        for file in listed {
            locked_packages.push(LockedPackage {
                file: required(file, "file")?,
                at: file.at,
                ..locked_package.clone().hashed(text_in(file, "hash")?)
            })?;
        }
        for hash in bare {
            let hash = hash.text().cloned();
            locked_packages.push(LockedPackage {
                file: hash.clone().unwrap_or_default(),
                ..locked_package.clone().hashed(hash)
            })?;
        }
        locked_packages.push(locked_package)?;
    }
    Ok(Lock {
        locked_packages: locked_packages.into_vec(),
        repetition: Repetition::Odd,
        repeated: document.repeated,
        trusted: Vec::new(),
    })
}

/// As PEP 503 compares names; older versions wrote them as their authors do.
pub(super) fn normalized(name: Cow<'_, str>) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.bytes().all(plain) && !name.contains("--") {
        return name;
    }
    let mut normal = String::with_capacity(name.len());
    for char in name.chars() {
        match char {
            '-' | '_' | '.' if normal.ends_with('-') => {}
            '-' | '_' | '.' => normal.push('-'),
            char => normal.extend(char.to_lowercase()),
        }
    }
    Cow::Owned(normal)
}

fn read_source<'a>(source: &Value<'a>) -> Result<Source<'a>, Unreadable> {
    let kind = required(source, "type")?;
    let url = required(source, "url")?;
    let revision = text_in(source, "resolved_reference")?.or(text_in(source, "reference")?);
    Ok(match &*kind {
        "git" => Source::Git(Address::new(url), revision.unwrap_or_default()),
        "file" | "directory" => Source::Path(url),
        "legacy" | "url" => Source::web(url),
        _ => return Err(Unreadable::at(source.at, "has a source of an unknown kind")),
    })
}
