//! `pnpm-lock.yaml`, versions 5, 6 and 9: a table of packages by
//! `/name/1.0.0_peers`, `/name@1.0.0(peers)` and `name@1.0.0`.

use std::borrow::Cow;

use super::lock::{Lock, LockedPackage, LockedPackages, Repetition};
use super::source::{Address, Source};
use super::{split_version, text_in};
use crate::rules::structured::{Data, Unreadable, Value, yaml};

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let document = yaml::read(text)?;
    let mut locked_packages = LockedPackages::default();
    // Newer versions put what configures pnpm itself into a document of its own.
    for root in document.root.items() {
        let version = text_in(root, "lockfileVersion")?;
        let version = version.ok_or(Unreadable::at(0, "is of no known version"))?;
        let slashes = version.starts_with(['3', '4', '5']);
        for (key, package) in root.get("packages").map_or(&[][..], Value::entries) {
            locked_packages.push(read_package(key, package, slashes)?)?;
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
    key: &str,
    package: &Value<'a>,
    slashes: bool,
) -> Result<LockedPackage<'a>, Unreadable> {
    let resolution = package.get("resolution");
    let resolution = match resolution {
        Some(table) if !matches!(table.data, Data::Table(_)) => {
            return Err(Unreadable::at(
                table.at,
                "has a resolution of an unknown kind",
            ));
        }
        resolution => resolution,
    };
    let field = |key: &str| resolution.map_or(Ok(None), |table| text_in(table, key));
    let place = Place::of(key, slashes);
    let name = text_in(package, "name")?.unwrap_or(Cow::Owned(place.name.to_owned()));
    let version = text_in(package, "version")?.unwrap_or(Cow::Owned(place.version.to_owned()));
    let source = match (field("tarball")?, field("repo")?, field("directory")?) {
        (_, Some(repository), _) => Source::Git(
            Address::new(repository),
            field("commit")?.unwrap_or_default(),
        ),
        (_, _, Some(directory)) => Source::Path(directory),
        (Some(tarball), _, _) => Source::web(tarball),
        _ if key.starts_with("file:") || key.contains("@file:") => {
            Source::Path(Cow::Owned(key.to_owned()))
        }
        _ => match (field("registry")?, place.host) {
            (Some(registry), _) => Source::web(registry),
            (None, Some(host)) => Source::web(format!("https://{host}/")),
            (None, None) => Source::Unstated,
        },
    };
    let locked_package = LockedPackage::new(package.at, name, version, source);
    Ok(locked_package.hashed(field("integrity")?))
}

/// A key, taken apart.
struct Place<'k> {
    /// The registry, where it is not the configured one.
    host: Option<&'k str>,
    name: &'k str,
    version: &'k str,
}

impl<'k> Place<'k> {
    fn of(key: &'k str, slashes: bool) -> Self {
        let bare = key.split('(').next().unwrap_or_default();
        let (host, rest) = match bare.split_once('/') {
            Some(("", rest)) => (None, rest),
            // A scope is no host, and before version 9 every key without one starts with `/`.
            Some((host, rest)) if !host.contains('@') && host.contains('.') => (Some(host), rest),
            _ => (None, bare),
        };
        let (name, version) = match slashes {
            true => {
                let (name, version) = rest.rsplit_once('/').unwrap_or((rest, ""));
                (name, version.split('_').next().unwrap_or_default())
            }
            false => split_version(rest),
        };
        // Instead of a version there may be an address, which the source tells.
        let version = if version.contains([':', '/']) {
            ""
        } else {
            version
        };
        Self {
            host,
            name,
            version,
        }
    }
}
