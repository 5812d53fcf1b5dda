//! `deno.lock`, versions 3 to 5: packages of JSR and npm, and modules by address.

use super::lock::{Lock, Pin, Pins, Repetition};
use super::source::Source;
use super::{split_version, text_in};
use crate::rules::structured::{Unreadable, Value, json};

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let document = json::read(text)?;
    let root = &document.root;
    let mut pins = Pins::default();
    // Version 3 has a table of both kinds.
    let both = root.get("packages").unwrap_or(root);
    for kind in ["jsr", "npm"] {
        for (key, package) in both.get(kind).map_or(&[][..], Value::entries) {
            pins.push(read_package(kind, key, package)?)?;
        }
    }
    for (address, hash) in root.get("remote").map_or(&[][..], Value::entries) {
        let at = hash.at;
        let hash = hash
            .text()
            .cloned()
            .ok_or(Unreadable::at(at, "has a hash that is no text"))?;
        let source = Source::web(address.clone());
        let pin = Pin::new(at, address.clone(), "", source);
        pins.push(pin.hashed(Some(hash)))?;
    }
    for (address, target) in root.get("redirects").map_or(&[][..], Value::entries) {
        let target_text = target
            .text()
            .cloned()
            .ok_or(Unreadable::at(target.at, "has a redirect that is no text"))?;
        let name = format!("redirect of {address}");
        let pin = Pin::new(target.at, name, "", Source::web(target_text.clone()));
        pins.push(pin.hashed(Some(target_text)))?;
    }
    Ok(Lock {
        pins: pins.into_vec(),
        repetition: Repetition::Odd,
        repeated: document.repeated,
        trusted: Vec::new(),
    })
}

fn read_package<'a>(kind: &str, key: &str, package: &Value<'a>) -> Result<Pin<'a>, Unreadable> {
    let (name, version) = split_version(key);
    // Behind the version stand the peers that it was resolved with.
    let version = version.split('_').next().unwrap_or_default().to_owned();
    let source = match text_in(package, "tarball")? {
        Some(tarball) => Source::web(tarball),
        None => Source::Unstated,
    };
    let pin = Pin::new(package.at, format!("{kind}:{name}"), version, source);
    Ok(pin.hashed(text_in(package, "integrity")?))
}
