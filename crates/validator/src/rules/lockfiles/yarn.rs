//! `yarn.lock`, which is one of two formats: Yarn 1's own, or YAML since Yarn 2.

use std::borrow::Cow;

use super::lock::{Lock, LockedPackage, LockedPackages, Repetition};
use super::source::{Address, Source};
use super::{required, split_version, text_in, yarn_classic};
use crate::rules::structured::{Unreadable, yaml};

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    // Yarn itself decides by this line.
    let mut comments = text.lines().take_while(|line| line.starts_with('#'));
    match comments.any(|line| line.trim_end() == "# yarn lockfile v1") {
        true => yarn_classic::read(text),
        false => berry(text),
    }
}

/// One entry per resolution: its key lists what asked for it.
fn berry(text: &str) -> Result<Lock<'_>, Unreadable> {
    let document = yaml::read(text)?;
    let [root] = document.root.items() else {
        return Err(Unreadable::new("is not one document"));
    };
    if root.get("__metadata").is_none() {
        return Err(Unreadable::at(0, "is of no known version of Yarn"));
    }
    let mut locked_packages = LockedPackages::default();
    for (key, package) in root.entries().iter().filter(|(key, _)| key != "__metadata") {
        let version = required(package, "version")?;
        let resolution = required(package, "resolution")?;
        let (resolved, reference) = split_version(&resolution);
        let source = read_source(reference);
        let checksum = text_in(package, "checksum")?;
        // Each name that asks for it is installed under that name.
        let mut names: Vec<&str> = key
            .split(", ")
            .map(|asked| split_version(asked).0)
            .collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let locked_package =
                LockedPackage::new(package.at, name.to_owned(), version.clone(), source.clone());
            let alias = (name != resolved).then(|| Cow::Owned(resolved.to_owned()));
            locked_packages.push(LockedPackage {
                alias,
                ..locked_package.hashed(checksum.clone())
            })?;
        }
    }
    Ok(Lock {
        locked_packages: locked_packages.into_vec(),
        repetition: Repetition::Ordinary,
        repeated: document.repeated,
        trusted: Vec::new(),
    })
}

/// What follows `name@` in a resolution.
fn read_source(reference: &str) -> Source<'static> {
    if let Some((_, address)) = reference.split_once("::__archiveUrl=") {
        return Source::Web(Address::new(percent_decoded(address)));
    }
    let (protocol, rest) = reference.split_once(':').unwrap_or(("", reference));
    let rest = || Cow::Owned(rest.to_owned());
    let whole = || reference.to_owned();
    match protocol {
        "npm" => Source::Unstated,
        "workspace" | "link" | "portal" | "file" | "exec" => Source::Path(rest()),
        // A patch names what it patches, and files of the workspace.
        "patch" => Source::Path(Cow::Owned(whole())),
        _ if reference.contains("#commit=") => Source::git(reference.replace("#commit=", "#")),
        _ if protocol.starts_with("git") => Source::git(whole()),
        _ => Source::web(whole()),
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        let digits = more.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let decoded = digits.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (first, decoded) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = more.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
