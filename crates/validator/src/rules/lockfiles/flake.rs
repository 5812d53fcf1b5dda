//! `flake.lock` of Nix: inputs by node, each at a revision with a hash of its contents.

use std::borrow::Cow;

use super::lock::{Lock, LockedPackage, LockedPackages, Repetition};
use super::source::{Address, Source};
use super::swift::repository;
use super::{required, text_in};
use crate::rules::structured::{Unreadable, Value, json};

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let document = json::read(text)?;
    let mut locked_packages = LockedPackages::default();
    for (node, input) in document.root.get("nodes").map_or(&[][..], Value::entries) {
        // The root has inputs only.
        if let Some(locked) = input.get("locked") {
            locked_packages.push(read_input(node, locked)?)?;
        }
    }
    Ok(Lock {
        locked_packages: locked_packages.into_vec(),
        repetition: Repetition::Odd,
        repeated: document.repeated,
        trusted: Vec::new(),
    })
}

fn read_input<'a>(
    node: &Cow<'a, str>,
    locked: &Value<'a>,
) -> Result<LockedPackage<'a>, Unreadable> {
    let hash = text_in(locked, "narHash")?;
    let revision = text_in(locked, "rev")?;
    let source = match required(locked, "type")?.as_ref() {
        kind @ ("github" | "gitlab" | "sourcehut") => {
            let (owner, name) = (required(locked, "owner")?, required(locked, "repo")?);
            let host = text_in(locked, "host")?.unwrap_or_else(|| Cow::Owned(kind.to_owned()));
            Source::Web(Address {
                scheme: Cow::Borrowed("https"),
                host: Cow::Owned(format!("{host}/{owner}/{name}").to_lowercase()),
                rest: Cow::Borrowed(""),
            })
        }
        "git" | "hg" => repository(required(locked, "url")?),
        "tarball" | "file" => Source::web(required(locked, "url")?),
        "path" => Source::Path(required(locked, "path")?),
        "indirect" => Source::Unstated,
        _ => {
            return Err(Unreadable::at(locked.at, "has a source of an unknown kind"));
        }
    };
    let version = revision.unwrap_or_default();
    let locked_package = LockedPackage::new(locked.at, node.clone(), version, source);
    Ok(locked_package.hashed(hash))
}
