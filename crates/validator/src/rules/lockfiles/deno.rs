//! `deno.lock`, versions 3 to 5: packages of JSR and npm, and modules by address.

use super::lock::{Lock, LockedPackage, LockedPackages, Repetition};
use super::source::Source;
use super::{split_version, text_in};
use crate::rules::structured::{Unreadable, Value, json};

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let document = json::read(text)?;
    let root = &document.root;
    let mut locked_packages = LockedPackages::default();
    // Version 3 has a table of both kinds.
    let both = root.get("packages").unwrap_or(root);
    for kind in ["jsr", "npm"] {
        for (key, package) in both.get(kind).map_or(&[][..], Value::entries) {
            locked_packages.push(read_package(kind, key, package)?)?;
        }
    }
    for (address, hash) in root.get("remote").map_or(&[][..], Value::entries) {
        let at = hash.at;
        let hash = hash
            .text()
            .cloned()
            .ok_or(Unreadable::at(at, "has a hash that is no text"))?;
        let source = Source::web(address.clone());
        let locked_package = LockedPackage::new(at, address.clone(), "", source);
        locked_packages.push(locked_package.hashed(Some(hash)))?;
    }
    for (address, target) in root.get("redirects").map_or(&[][..], Value::entries) {
        let target_text = target
            .text()
            .cloned()
            .ok_or(Unreadable::at(target.at, "has a redirect that is no text"))?;
        let name = format!("redirect of {address}");
        let locked_package =
            LockedPackage::new(target.at, name, "", Source::web(target_text.clone()));
        locked_packages.push(locked_package.hashed(Some(target_text)))?;
    }
    Ok(Lock {
        locked_packages: locked_packages.into_vec(),
        repetition: Repetition::Odd,
        repeated: document.repeated,
        trusted: Vec::new(),
    })
}

fn read_package<'a>(
    kind: &str,
    key: &str,
    package: &Value<'a>,
) -> Result<LockedPackage<'a>, Unreadable> {
    let (name, version) = split_version(key);
    // Behind the version stand the peers that it was resolved with.
    let version = version.split('_').next().unwrap_or_default().to_owned();
    let source = match text_in(package, "tarball")? {
        Some(tarball) => Source::web(tarball),
        None => Source::Unstated,
    };
    let locked_package = LockedPackage::new(package.at, format!("{kind}:{name}"), version, source);
    Ok(locked_package.hashed(text_in(package, "integrity")?))
}
