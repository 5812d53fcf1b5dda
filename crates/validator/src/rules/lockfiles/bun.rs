//! `bun.lock`: JSON in which a comma may stand before a closing bracket. A package is a list,
//! `["name@version", "REGISTRY", {DEPENDENCIES}, "HASH"]` for one of a registry, and
//! `["name@ADDRESS", {DEPENDENCIES}, "HASH"]` for any other.

use std::borrow::Cow;

use super::lock::{Lock, LockedPackage, LockedPackages, Repetition};
use super::source::Source;
use super::split_version;
use crate::rules::structured::{Unreadable, Value, json};

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let plain = without_last_commas(text);
    let document = json::read(&plain)?;
    let mut locked_packages = LockedPackages::default();
    let packages = document.root.get("packages");
    for (place, package) in packages.map_or(&[][..], Value::entries) {
        locked_packages.push(read_package(place, package)?.into_owned())?;
    }
    Ok(Lock {
        locked_packages: locked_packages.into_vec(),
        repetition: Repetition::Ordinary,
        repeated: document.repeated,
        trusted: Vec::new(),
    })
}

fn read_package<'a>(place: &str, package: &Value<'a>) -> Result<LockedPackage<'a>, Unreadable> {
    let odd = || Unreadable::at(package.at, "has a package in an unknown form");
    let items = package.items();
    let what = items.first().and_then(Value::text).ok_or_else(odd)?;
    let (name, version) = split_version(what);
    // `parent/name` where two versions are there.
    let installed = match place.ends_with(name) {
        true => name,
        false => place,
    };
    let alias = (installed != name).then(|| Cow::Owned(name.to_owned()));
    let texts: Vec<&Cow<'a, str>> = items.iter().skip(1).filter_map(Value::text).collect();
    let (source, version, hash) = match (is_address(version), texts.as_slice()) {
        (false, [registry, hash]) => {
            let source = match registry.is_empty() {
                true => Source::Unstated,
                false => Source::web((*registry).clone()),
            };
            (source, version, Some(*hash))
        }
        (false, []) => (Source::Unstated, version, None),
        (true, rest) => (read_address(version), "", rest.last().copied()),
        _ => return Err(odd()),
    };
    let locked_package =
        LockedPackage::new(package.at, installed.to_owned(), version.to_owned(), source);
    Ok(LockedPackage {
        alias,
        ..locked_package.hashed(hash.cloned())
    })
}

fn is_address(version: &str) -> bool {
    version.contains([':', '/'])
}

/// `github:user/repository#revision`, `git+ssh://…`, `https://…/x.tgz`, `workspace:PATH`, `file:…`.
fn read_address<'a>(text: &str) -> Source<'a> {
    let text = text.to_owned();
    match text.split_once(':') {
        Some(("workspace" | "link" | "file" | "root", path)) => {
            Source::Path(Cow::Owned(path.to_owned()))
        }
        Some((scheme, _)) if scheme.starts_with("git") => Source::git(text),
        _ => Source::web(text),
    }
}

/// Replaces commas before a closing bracket by blanks, so that every place stays where it is.
fn without_last_commas(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let (mut in_text, mut is_escaped) = (false, false);
    let mut comma = None;
    for (at, byte) in text.bytes().enumerate() {
        if in_text {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => in_text = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => (in_text, comma) = (true, None),
            b',' => comma = Some(at),
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b']' | b'}' => {
                if let Some(comma) = comma.take().and_then(|comma| bytes.get_mut(comma)) {
                    *comma = b' ';
                }
            }
            _ => comma = None,
        }
    }
    // Only commas were replaced, each by a byte of one.
    String::from_utf8(bytes).unwrap_or_default()
}
