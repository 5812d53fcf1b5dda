//! `Pipfile.lock`: hashes of the files of each version, and the index they are looked up in.

use std::borrow::Cow;

use super::lock::{Lock, LockedPackage, LockedPackages, Repetition, Trusted};
use super::poetry::normalized;
use super::source::{Address, Source};
use super::{required, text_in};
use crate::rules::structured::{Data, Unreadable, Value, json};

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let document = json::read(text)?;
    let root = &document.root;
    let sources = root.get("_meta").and_then(|meta| meta.get("sources"));
    let sources = sources.map_or(&[][..], Value::items);
    let unchecked = sources.iter().filter(|source| {
        let verify = source.get("verify_ssl").map(|verify| &verify.data);
        matches!(verify, Some(Data::Bare(word) | Data::Text(word)) if word != "true")
    });
    let trusted = unchecked.map(|source| {
        let url = source.get("url").and_then(Value::text);
        let url = url.map_or("", |url| url.as_ref());
        Trusted {
            what: format!("the certificate of {url}"),
            at: source.at,
        }
    });
    let trusted = trusted.collect();
    let mut locked_packages = LockedPackages::default();
    for (category, packages) in root.entries() {
        if category == "_meta" {
            continue;
        }
        for (name, package) in packages.entries() {
            read_package(name, package, sources, &mut locked_packages)?;
        }
    }
    Ok(Lock {
        locked_packages: locked_packages.into_vec(),
        repetition: Repetition::Ordinary,
        repeated: document.repeated,
        trusted,
    })
}

fn read_package<'a>(
    name: &str,
    package: &Value<'a>,
    sources: &[Value<'a>],
    locked_packages: &mut LockedPackages<'a>,
) -> Result<(), Unreadable> {
    let Data::Table(_) = package.data else {
        return Err(Unreadable::at(package.at, "has a package that is no table"));
    };
    let version = text_in(package, "version")?.unwrap_or_default();
    let source = read_source(package, sources)?;
    let locked_package = LockedPackage::new(
        package.at,
        normalized(Cow::Owned(name.to_owned())),
        version,
        source,
    );
    let hashes = package.get("hashes").map_or(&[][..], Value::items);
    for hash in hashes {
        let hash = hash
            .text()
            .cloned()
            .ok_or(Unreadable::at(hash.at, "has a hash that is no text"))?;
        locked_packages.push(LockedPackage {
            file: hash.clone(),
            ..locked_package.clone().hashed(Some(hash))
        })?;
    }
    locked_packages.push(locked_package)
}

fn read_source<'a>(package: &Value<'a>, sources: &[Value<'a>]) -> Result<Source<'a>, Unreadable> {
    if let Some(address) = text_in(package, "git")? {
        let revision = text_in(package, "ref")?.unwrap_or_default();
        return Ok(Source::Git(Address::new(address), revision));
    }
    for key in ["file", "path"] {
        if let Some(place) = text_in(package, key)? {
            return Ok(match place.contains("://") {
                true => Source::web(place),
                false => Source::Path(place),
            });
        }
    }
    let index = text_in(package, "index")?;
    // What names no index comes from the first.
    let mut named = sources.iter();
    let found = match &index {
        None => named.next(),
        Some(index) => named.find(|source| {
            let name = source.get("name").and_then(Value::text);
            name.is_some_and(|name| name == index)
        }),
    };
    match (found, index) {
        (Some(found), _) => Ok(Source::web(required(found, "url")?)),
        (None, None) => Ok(Source::Unstated),
        (None, Some(index)) if index.contains("://") => Ok(Source::web(index)),
        (None, Some(_)) => Err(Unreadable::at(
            package.at,
            "has a package from an index that is not named",
        )),
    }
}
