//! `composer.lock`: `packages` and `packages-dev`, each with an archive (`dist`), a
//! repository (`source`), or both.

use std::borrow::Cow;

use super::lock::{Lock, Pin, Pins, Repetition};
use super::source::{Address, Source};
use super::{required, text_in};
use crate::rules::structured::{Unreadable, Value, json};

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let document = json::read(text)?;
    let mut pins = Pins::default();
    for list in ["packages", "packages-dev"] {
        let packages = document.root.get(list).map_or(&[][..], Value::items);
        for package in packages {
            read_package(package, &mut pins)?;
        }
    }
    Ok(Lock {
        pins: pins.into_vec(),
        repetition: Repetition::Ordinary,
        repeated: document.repeated,
        trusted: Vec::new(),
    })
}

fn read_package<'a>(package: &Value<'a>, pins: &mut Pins<'a>) -> Result<(), Unreadable> {
    let name = required(package, "name")?;
    let version = required(package, "version")?;
    let dist = package.get("dist").map(Origin::read).transpose()?;
    let repository = package.get("source").map(Origin::read).transpose()?;
    let known = dist.as_ref().and_then(|dist| dist.contents.clone());
    if let Some(dist) = dist {
        let pin = Pin::new(package.at, name.clone(), version.clone(), dist.source);
        pins.push(pin.hashed(dist.contents))?;
    }
    if let Some(repository) = repository {
        let contents = repository
            .contents
            .filter(|contents| Some(contents) != known.as_ref());
        let pin = Pin::new(package.at, name, version, repository.source);
        pins.push(Pin {
            file: Cow::Borrowed("source"),
            ..pin.hashed(contents)
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
