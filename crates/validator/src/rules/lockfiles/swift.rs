//! `Package.resolved` of the Swift Package Manager, versions 1 to 3: repositories, at the
//! revision of a version or of a branch.

use std::borrow::Cow;

use super::lock::{Lock, LockedPackage, LockedPackages, Repetition};
use super::source::{Address, Source};
use super::{required, text_in};
use crate::rules::structured::{Unreadable, Value, json};

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let document = json::read(text)?;
    let root = &document.root;
    let listed = root.get("pins");
    let listed = listed.or_else(|| root.get("object")?.get("pins"));
    let mut locked_packages = LockedPackages::default();
    for package in listed.map_or(&[][..], Value::items) {
        locked_packages.push(read_package(package)?)?;
    }
    Ok(Lock {
        locked_packages: locked_packages.into_vec(),
        repetition: Repetition::Odd,
        repeated: document.repeated,
        trusted: Vec::new(),
    })
}

fn read_package<'a>(package: &Value<'a>) -> Result<LockedPackage<'a>, Unreadable> {
    let name = text_in(package, "identity")?.or(text_in(package, "package")?);
    let place = text_in(package, "location")?.or(text_in(package, "repositoryURL")?);
    let state = package.get("state");
    let (Some(name), Some(place), Some(state)) = (name, place, state) else {
        return Err(Unreadable::at(
            package.at,
            "has a package without a name, a place or a state",
        ));
    };
    let version = text_in(state, "version")?;
    if text_in(package, "kind")?.is_some_and(|kind| kind == "registry") {
        let version = version.unwrap_or_default();
        return Ok(LockedPackage::new(
            package.at,
            name,
            version,
            Source::Unstated,
        ));
    }
    let revision = required(state, "revision")?;
    // A branch moves on: each of its revisions is a version.
    let version = version.unwrap_or_else(|| revision.clone());
    let locked_package = LockedPackage::new(package.at, name, version, repository(place));
    Ok(locked_package.hashed(Some(revision)))
}

/// Each repository is a place of its own: there is no registry that would stand for whose it is.
pub(super) fn repository(place: Cow<'_, str>) -> Source<'_> {
    let Address { scheme, host, rest } = Address::new(place);
    let rest = rest.strip_suffix('/').unwrap_or(&rest);
    let rest = rest.strip_suffix(".git").unwrap_or(rest).to_lowercase();
    Source::Web(Address {
        scheme,
        host: Cow::Owned(format!("{host}{rest}")),
        rest: Cow::Borrowed(""),
    })
}
