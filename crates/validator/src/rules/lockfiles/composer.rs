//! `composer.lock`: `packages` and `packages-dev`, each with an archive (`dist`), a
//! repository (`source`), or both.

use std::borrow::Cow;

use super::lock::{Lock, LockedPackage, LockedPackages, Repetition};
use super::source::{Address, Source};
use super::{required, text_in};
use crate::rules::structured::{Unreadable, Value, json};

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let document = json::read(text)?;
    let mut locked_packages = LockedPackages::default();
    for list in ["packages", "packages-dev"] {
        let packages = document.root.get(list).map_or(&[][..], Value::items);
        for package in packages {
            read_package(package, &mut locked_packages)?;
        }
    }
    Ok(Lock {
        locked_packages: locked_packages.into_vec(),
        repetition: Repetition::Ordinary,
        repeated: document.repeated,
        trusted: Vec::new(),
    })
}

fn read_package<'a>(
    package: &Value<'a>,
    locked_packages: &mut LockedPackages<'a>,
) -> Result<(), Unreadable> {
    let name = required(package, "name")?;
    let version = required(package, "version")?;
    let dist = package.get("dist").map(Origin::read).transpose()?;
    let repository = package.get("source").map(Origin::read).transpose()?;
    let known = dist.as_ref().and_then(|dist| dist.contents.clone());
    if let Some(dist) = dist {
        let locked_package =
            LockedPackage::new(package.at, name.clone(), version.clone(), dist.source);
        locked_packages.push(locked_package.hashed(dist.contents))?;
    }
    if let Some(repository) = repository {
        let contents = repository
            .contents
            .filter(|contents| Some(contents) != known.as_ref());
        let locked_package = LockedPackage::new(package.at, name, version, repository.source);
        locked_packages.push(LockedPackage {
            file: Cow::Borrowed("source"),
            ..locked_package.hashed(contents)
        })?;
    }
    Ok(())
}

/// One way to a package.
struct Origin<'a> {
    source: Source<'a>,
    /// The archive's hash; most have none, and the commit that it was made of says as much.
    contents: Option<Cow<'a, str>>,
}

impl<'a> Origin<'a> {
    fn read(table: &Value<'a>) -> Result<Self, Unreadable> {
        let url = required(table, "url")?;
        let hash = text_in(table, "shasum")?.filter(|hash| !hash.is_empty());
        let reference = text_in(table, "reference")?;
        let source = match required(table, "type")?.as_ref() {
            "path" => Source::Path(url),
            _ => Source::Web(Address::new(url)),
        };
        Ok(Self {
            source,
            contents: hash.or(reference),
        })
    }
}
