//! `uv.lock`.

use std::borrow::Cow;

use super::lock::{Lock, LockedPackage, LockedPackages, Repetition};
use super::pdm::file_name;
use super::poetry::normalized;
use super::source::Source;
use super::{required, text_in};
use crate::rules::structured::{Unreadable, Value, toml};

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let document = toml::read(text)?;
    let mut locked_packages = LockedPackages::default();
    let packages = document.root.get("package").map_or(&[][..], Value::items);
    for package in packages {
        let name = required(package, "name")?;
        // A package whose version its own build decides has none.
        let version = text_in(package, "version")?.unwrap_or_default();
        let source = match package.get("source") {
            Some(source) => read_source(source)?,
            None => Source::Unstated,
        };
        let from_registry = package
            .get("source")
            .is_some_and(|source| source.get("registry").is_some());
        locked_packages.push(LockedPackage::new(
            package.at,
            name.clone(),
            version.clone(),
            source.clone(),
        ))?;
        let wheels = package.get("wheels").map_or(&[][..], Value::items);
        for file in package.get("sdist").into_iter().chain(wheels) {
            let url = text_in(file, "url")?;
            let path = text_in(file, "path")?.or(text_in(file, "filename")?);
            let (place, source) = match (url, path) {
                (Some(url), _) => (url.clone(), Source::web(url)),
                (None, Some(path)) => (path.clone(), Source::Path(path)),
                // The source's own file.
                (None, None) => (Cow::Borrowed("archive"), source.clone()),
            };
            let locked_package = LockedPackage::new(file.at, name.clone(), version.clone(), source);
            let file_name = file_name(place);
            // One host serves the files of every package, so the name must say whose it is.
            let start = format!("{}-", normalized(name.clone()));
            let is_own = normalized(file_name.clone()).starts_with(&start);
            let alias = (from_registry && !is_own).then(|| file_name.clone());
            let hash = text_in(file, "hash")?;
            locked_packages.push(LockedPackage {
                file: file_name,
                alias,
                ..locked_package.hashed(hash)
            })?;
        }
    }
    Ok(Lock {
        locked_packages: locked_packages.into_vec(),
        repetition: Repetition::Odd,
        repeated: document.repeated,
        trusted: Vec::new(),
    })
}

fn read_source<'a>(source: &Value<'a>) -> Result<Source<'a>, Unreadable> {
    for kind in [
        "registry",
        "git",
        "url",
        "path",
        "directory",
        "editable",
        "virtual",
    ] {
        let Some(text) = text_in(source, kind)? else {
            continue;
        };
        return Ok(match kind {
            "git" => Source::git(text),
            "registry" | "url" if text.contains("://") => Source::web(text),
            _ => Source::Path(text),
        });
    }
    Err(Unreadable::at(source.at, "has a source of an unknown kind"))
}
