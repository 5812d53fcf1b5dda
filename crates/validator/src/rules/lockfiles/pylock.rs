//! `pylock.toml` and `pylock.NAME.toml` (PEP 751).

use std::borrow::Cow;

use super::lock::{Lock, LockedPackage, LockedPackages, Repetition};
use super::pdm::file_name;
use super::poetry::normalized;
use super::source::{Address, Source};
use super::{required, text_in};
use crate::rules::structured::{Unreadable, Value, toml};

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let document = toml::read(text)?;
    let mut locked_packages = LockedPackages::default();
    let packages = document.root.get("packages").map_or(&[][..], Value::items);
    for package in packages {
        read_package(package, &mut locked_packages)?;
    }
    Ok(Lock {
        locked_packages: locked_packages.into_vec(),
        // One statement for each kind of machine.
        repetition: Repetition::Ordinary,
        repeated: document.repeated,
        trusted: Vec::new(),
    })
}

fn read_package<'a>(
    package: &Value<'a>,
    locked_packages: &mut LockedPackages<'a>,
) -> Result<(), Unreadable> {
    let name = normalized(required(package, "name")?);
    let version = text_in(package, "version")?.unwrap_or_default();
    let index = text_in(package, "index")?;
    let mut source = index.map_or(Source::Unstated, Source::web);
    if let Some(vcs) = package.get("vcs") {
        let place = text_in(vcs, "url")?.or(text_in(vcs, "path")?);
        let place = place.ok_or(Unreadable::at(vcs.at, "has a repository without a place"))?;
        source = Source::Git(Address::new(place), required(vcs, "commit-id")?);
    } else if let Some(directory) = package.get("directory") {
        source = Source::Path(required(directory, "path")?);
    }
    let locked_package = LockedPackage::new(package.at, name, version, source);
    let archive = package.get("archive").into_iter();
    let sdist = package.get("sdist").into_iter();
    let wheels = package.get("wheels").map_or(&[][..], Value::items);
    for file in archive.chain(sdist).chain(wheels) {
        push_file(file, &locked_package, locked_packages)?;
    }
    locked_packages.push(locked_package)
}

/// One pin for each hash, as a file may have several.
fn push_file<'a>(
    file: &Value<'a>,
    package: &LockedPackage<'a>,
    locked_packages: &mut LockedPackages<'a>,
) -> Result<(), Unreadable> {
    let url = text_in(file, "url")?;
    let path = text_in(file, "path")?;
    let (source, place) = match (url, path) {
        (Some(url), _) => (Source::web(url.clone()), url),
        (None, Some(path)) => (Source::Path(path.clone()), path),
        (None, None) => return Err(Unreadable::at(file.at, "has a file without a place")),
    };
    let name = text_in(file, "name")?.unwrap_or_else(|| file_name(place));
    let hashes = file.get("hashes").map_or(&[][..], Value::entries);
    let locked_package = LockedPackage {
        at: file.at,
        source,
        ..package.clone()
    };
    if hashes.is_empty() {
        return locked_packages.push(LockedPackage {
            file: name,
            ..locked_package
        });
    }
    for (algorithm, hash) in hashes {
        let hash = hash
            .text()
            .ok_or(Unreadable::at(hash.at, "has a hash that is no text"))?;
        let hash = Cow::Owned(format!("{algorithm}:{hash}"));
        locked_packages.push(LockedPackage {
            file: name.clone(),
            ..locked_package.clone().hashed(Some(hash))
        })?;
    }
    Ok(())
}
