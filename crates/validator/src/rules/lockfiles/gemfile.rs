//! `Gemfile.lock`: sections of remotes and what comes from each; hashes in `CHECKSUMS`.

use std::borrow::Cow;
use std::collections::HashMap;

use super::lock::{Lock, LockedPackage, LockedPackages, MOST_PINS, Repetition};
use super::source::{Address, Source};
use crate::rules::structured::{Unreadable, offset};

/// Sections that name where gems come from.
const SOURCES: [&str; 4] = ["GEM", "GIT", "PATH", "PLUGIN SOURCE"];
/// The other sections, which pin nothing but `CHECKSUMS`.
const OTHERS: [&str; 5] = [
    "PLATFORMS",
    "DEPENDENCIES",
    "CHECKSUMS",
    "RUBY VERSION",
    "BUNDLED WITH",
];

/// The most remotes of one section: each gem in it counts once per remote.
const MOST_REMOTES: usize = 16;

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let mut locked_packages = LockedPackages::default();
    let mut hashes: HashMap<(&str, &str), &str> = HashMap::new();
    let mut section = Section::default();
    let mut start = 0;
    for line in text.split('\n') {
        let at = offset(start);
        start += line.len() + 1;
        let line = line.trim_end_matches('\r').trim_end();
        let body = line.trim_start_matches(' ');
        let error = |reason| Unreadable::at(at, reason);
        match line.len() - body.len() {
            _ if body.is_empty() => {}
            0 if SOURCES.contains(&body) || OTHERS.contains(&body) => {
                section = Section {
                    name: body,
                    ..Section::default()
                };
            }
            0 => return Err(error("is a section of an unknown kind")),
            2 if section.name == "CHECKSUMS" => {
                let (name, version, rest) = spec(body).ok_or(error("is no gem with a hash"))?;
                if hashes.len() >= MOST_PINS {
                    return Err(error("has too many packages"));
                }
                if let Some(known) = hashes.insert((name, version), rest)
                    && known != rest
                {
                    return Err(error("gives another hash to the same gem"));
                }
            }
            2 if SOURCES.contains(&section.name) => match body.split_once(": ") {
                Some(("remote", _)) if section.remotes.len() >= MOST_REMOTES => {
                    return Err(error("has too many remotes"));
                }
                Some(("remote", url)) => section.remotes.push(url),
                Some(("revision", revision)) => section.revision = revision,
                Some(_) => {}
                None if body == "specs:" => {}
                None => return Err(error("is no key with a value")),
            },
            4 if SOURCES.contains(&section.name) => {
                let (name, version, rest) = spec(body).ok_or(error("is no gem with a version"))?;
                if !rest.is_empty() {
                    return Err(error("has something behind its version"));
                }
                for source in section.sources() {
                    locked_packages.push(LockedPackage::new(at, name, version, source))?;
                }
            }
            // What a gem needs, platforms, and versions of tools.
            _ if !section.name.is_empty() => {}
            _ => return Err(error("stands before any section")),
        }
    }
    for locked_package in locked_packages.iter_mut() {
        let (name, version) = (&*locked_package.name, &*locked_package.version);
        let hash = hashes.get(&(name, version)).filter(|hash| !hash.is_empty());
        locked_package.integrity = hash.map(|hash| Cow::Borrowed(*hash));
    }
    Ok(Lock {
        locked_packages: locked_packages.into_vec(),
        repetition: Repetition::Ordinary,
        repeated: Vec::new(),
        trusted: Vec::new(),
    })
}

#[derive(Default)]
struct Section<'a> {
    name: &'a str,
    /// Old files name several: each of them may serve each gem.
    remotes: Vec<&'a str>,
    revision: &'a str,
}

impl<'a> Section<'a> {
    fn sources(&self) -> Vec<Source<'a>> {
        let remotes = self.remotes.iter();
        let source = |remote: &&'a str| match self.name {
            "GIT" => Source::Git(Address::new(*remote), Cow::Borrowed(self.revision)),
            "PATH" => Source::Path(Cow::Borrowed(*remote)),
            _ => Source::web(*remote),
        };
        let sources: Vec<_> = remotes.map(source).collect();
        match sources.is_empty() {
            true => vec![Source::Unstated],
            false => sources,
        }
    }
}

/// `name (version) rest`.
fn spec(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = text.split_once(" (")?;
    let (version, rest) = rest.split_once(')')?;
    (!name.is_empty() && !version.is_empty()).then_some((name, version, rest.trim()))
}
