//! `package-lock.json` and `npm-shrinkwrap.json`, versions 1 to 3.
//!
//! Version 1 is a tree of `dependencies`, version 3 a flat table of `packages` by place,
//! version 2 holds both, for two generations of npm: what one of them says and the other
//! does not counts all the same.

use std::borrow::Cow;

use super::lock::{Lock, LockedPackage, LockedPackages, Repetition};
use super::source::Source;
use super::text_in;
use crate::rules::structured::{Data, Unreadable, Value, json};

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let document = json::read(text)?;
    let root = &document.root;
    let Data::Table(_) = root.data else {
        return Err(Unreadable::at(0, "is no table"));
    };
    let mut locked_packages = LockedPackages::default();
    for (place, package) in root.get("packages").map_or(&[][..], Value::entries) {
        // The workspace's own package.
        if !place.is_empty() {
            locked_packages.push(by_place(place, package)?)?;
        }
    }
    if let Some(tree) = root.get("dependencies") {
        by_tree(tree, &mut locked_packages)?;
    }
    Ok(Lock {
        locked_packages: locked_packages.into_vec(),
        repetition: Repetition::Ordinary,
        repeated: document.repeated,
        trusted: Vec::new(),
    })
}

/// `node_modules/a/node_modules/@b/c`, or the path of a workspace's package.
fn by_place<'a>(place: &str, package: &Value<'a>) -> Result<LockedPackage<'a>, Unreadable> {
    let installed = place.rsplit_once("node_modules/").map(|(_, name)| name);
    let own = text_in(package, "name")?;
    let version = text_in(package, "version")?.unwrap_or_default();
    let resolved = text_in(package, "resolved")?;
    let name = installed.unwrap_or(place).to_owned();
    let source = match (installed, resolved) {
        (None, _) => Source::Path(Cow::Borrowed("")),
        (_, Some(path)) if package.is_true("link") => Source::Path(path),
        (_, Some(resolved)) => read_source(resolved),
        (_, None) if package.is_true("inBundle") => Source::Bundled,
        (_, None) => Source::Unstated,
    };
    let alias = own.filter(|own| installed.is_some_and(|name| name != own));
    let integrity = text_in(package, "integrity")?;
    let locked_package = LockedPackage::new(package.at, name, version, source);
    Ok(LockedPackage {
        alias,
        ..locked_package.hashed(integrity)
    })
}

/// The reader of JSON refuses more than 128 levels, so the recursion is bounded.
fn by_tree<'a>(
    tree: &Value<'a>,
    locked_packages: &mut LockedPackages<'a>,
) -> Result<(), Unreadable> {
    for (name, package) in tree.entries() {
        let version = text_in(package, "version")?.unwrap_or_default();
        let resolved = text_in(package, "resolved")?;
        let (mut alias, mut stated) = (None, version.clone());
        let mut source = match resolved {
            Some(resolved) => read_source(resolved),
            None if package.is_true("bundled") => Source::Bundled,
            None => Source::Unstated,
        };
        if let Some(other) = version.strip_prefix("npm:") {
            let (other, version) = super::split_version(other);
            alias = Some(Cow::Owned(other.to_owned()));
            stated = Cow::Owned(version.to_owned());
        } else if version.contains([':', '/']) {
            // Version 1 puts an address there.
            source = read_source(version);
            stated = Cow::Borrowed("");
        }
        let locked_package = LockedPackage::new(package.at, name.clone(), stated, source);
        let integrity = text_in(package, "integrity")?;
        locked_packages.push(LockedPackage {
            alias,
            ..locked_package.hashed(integrity)
        })?;
        if let Some(below) = package.get("dependencies") {
            by_tree(below, locked_packages)?;
        }
    }
    Ok(())
}

/// An archive's URL, `git+ssh://…#revision`, `github:user/repository#revision`, `file:…`.
fn read_source(text: Cow<'_, str>) -> Source<'_> {
    let hosted = [
        "git+",
        "git:",
        "git@",
        "github:",
        "gitlab:",
        "bitbucket:",
        "gist:",
    ];
    match hosted.iter().any(|start| text.starts_with(start)) {
        true => Source::git(text),
        false => Source::web(text),
    }
}
