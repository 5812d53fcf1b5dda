//! `pubspec.lock` of Dart and Flutter.

use std::borrow::Cow;

use super::lock::{Lock, LockedPackage, LockedPackages, Repetition};
use super::source::{Address, Source};
use super::{required, text_in};
use crate::rules::structured::{Unreadable, Value, yaml};

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let document = yaml::read(text)?;
    let mut locked_packages = LockedPackages::default();
    for root in document.root.items() {
        for (name, package) in root.get("packages").map_or(&[][..], Value::entries) {
            locked_packages.push(read_package(name, package)?)?;
        }
    }
    Ok(Lock {
        locked_packages: locked_packages.into_vec(),
        repetition: Repetition::Odd,
        repeated: document.repeated,
        trusted: Vec::new(),
    })
}

fn read_package<'a>(
    name: &Cow<'a, str>,
    package: &Value<'a>,
) -> Result<LockedPackage<'a>, Unreadable> {
    let version = required(package, "version")?;
    let unknown = Unreadable::at(package.at, "has a source of an unknown kind");
    let description = package.get("description").ok_or(unknown.clone())?;
    let (mut hash, mut alias) = (None, None);
    let source = match required(package, "source")?.as_ref() {
        "hosted" => {
            hash = text_in(description, "sha256")?;
            let other = text_in(description, "name")?;
            alias = other.filter(|other| other != name);
            Source::web(required(description, "url")?)
        }
        "git" => {
            let address = Address::new(required(description, "url")?);
            Source::Git(address, required(description, "resolved-ref")?)
        }
        "path" => Source::Path(required(description, "path")?),
        "sdk" => Source::Unstated,
        _ => return Err(unknown),
    };
    let locked_package = LockedPackage::new(package.at, name.clone(), version, source);
    Ok(LockedPackage {
        alias,
        ..locked_package.hashed(hash)
    })
}
