//! `compare`: two sides of a lockfile, and what there is to say about the second.

use std::collections::HashSet;
use std::hash::RandomState;

use super::index::{Index, Key, identity};
use super::lock::{Lock, LockedPackage, Repetition, Trusted};
use super::origins::{mixed_hosts, new_hosts, origin};
use super::source::Source;
use crate::Severity::{Block, Note, Warn};
use crate::codes;
use crate::file_findings::FileFindings;
use crate::rules::structured::driver::Before;
use crate::shown::shown;

/// The most statements about one known version that a new one is held against. One is
/// usual; a forged file may have a million.
const MOST_COMPARED: usize = 16;

/// Compares, and returns what there is to say.
pub(super) fn compare(before: &Before<Lock<'_>>, after: &Lock<'_>) -> FileFindings {
    let nothing = Lock {
        locked_packages: Vec::new(),
        repetition: after.repetition,
        repeated: Vec::new(),
        trusted: Vec::new(),
    };
    let known = match before {
        Before::Known(lock) => lock,
        Before::New | Before::Unknown(_) => &nothing,
    };
    let hasher = RandomState::new();
    let (old, new) = (Index::of(known, &hasher), Index::of(after, &hasher));
    let mut remarks = FileFindings::default();
    repeated(known, after, &mut remarks);
    trusted(known, after, &mut remarks);
    for (key, locked_packages) in new.keys() {
        match old.get(&key) {
            Some(known) => known_key(known, locked_packages, &mut remarks),
            None => new_key(&old, &key, locked_packages, &mut remarks),
        }
    }
    match before {
        Before::Known(_) => {
            new_hosts(&old, after, &mut remarks);
            replaced_files(&old, &new, &mut remarks);
        }
        Before::New => mixed_hosts(after, &mut remarks),
        Before::Unknown(why) => {
            mixed_hosts(after, &mut remarks);
            remarks.add(Warn, codes::LOCKFILE_NO_BASELINE, None, || {
                format!("there is nothing to compare with, because what was there before {why}")
            });
        }
    }
    remarks.add(Note, codes::LOCKFILE_CHANGED, None, || old.counts(&new));
    remarks
}

/// What two readers would read differently.
fn repeated(old: &Lock<'_>, new: &Lock<'_>, remarks: &mut FileFindings) {
    for repeated in &new.repeated {
        // One that was there before is no reason to hold back another change.
        let known = old.repeated.iter().any(|old| old.key == repeated.key);
        let severity = if known { Warn } else { Block };
        remarks.add(
            severity,
            codes::LOCKFILE_REPEATED_KEY,
            Some(repeated.at),
            || {
                let key = shown(&repeated.key);
                format!("`{key}` is there twice, and readers differ in which they take")
            },
        );
    }
    if new.repetition == Repetition::Ordinary {
        return;
    }
    let mut seen = HashSet::new();
    for locked_package in new
        .locked_packages
        .iter()
        .filter(|locked_package| locked_package.file.is_empty())
    {
        if !seen.insert((
            &locked_package.name,
            &locked_package.version,
            &locked_package.source,
        )) {
            remarks.add(
                Block,
                codes::LOCKFILE_REPEATED_PACKAGE,
                Some(locked_package.at),
                || {
                    let title = locked_package.title();
                    format!("{title} is there twice, and readers differ in which they take")
                },
            );
        }
    }
}

/// What is not checked any more.
fn trusted(old: &Lock<'_>, new: &Lock<'_>, remarks: &mut FileFindings) {
    let known: HashSet<&str> = old.trusted.iter().map(|trusted| &*trusted.what).collect();
    for Trusted { what, at } in &new.trusted {
        if !known.contains(&**what) {
            remarks.add(Warn, codes::LOCKFILE_TRUSTED, Some(*at), || {
                format!("says what is not checked: {}", shown(what))
            });
        }
    }
}

/// A version that was there before: it may not change what it is.
fn known_key(
    known: &[&LockedPackage<'_>],
    locked_packages: &[&LockedPackage<'_>],
    remarks: &mut FileFindings,
) {
    for locked_package in locked_packages {
        let same = known.binary_search_by(|old| identity(old).cmp(&identity(locked_package)));
        if same.is_ok() || locked_package.source == Source::Bundled {
            continue;
        }
        // What is nearest is the most telling to compare with.
        let compared = || known.iter().take(MOST_COMPARED);
        let same_source = compared()
            .find(|old| old.source == locked_package.source && old.alias == locked_package.alias);
        let same_hash = || compared().find(|old| old.integrity == locked_package.integrity);
        if let Some(old) = same_source.or_else(same_hash).or(known.first()) {
            changed_source(old, locked_package, remarks);
            changed_contents(old, locked_package, remarks);
        }
    }
}

fn changed_source(old: &LockedPackage<'_>, new: &LockedPackage<'_>, remarks: &mut FileFindings) {
    let at = Some(new.at);
    if old.source == new.source {
        return;
    }
    match (&old.source, &new.source) {
        (Source::Web(was), Source::Web(is)) if was.same_host(is) => {
            // Other bytes would not have the same hash.
            if old.integrity.is_none() {
                remarks.add(Block, codes::LOCKFILE_SOURCE, at, || {
                    format!(
                        "{} comes from another place on {is}, and had no hash",
                        new.title()
                    )
                });
            }
        }
        (Source::Web(was), Source::Web(is)) if was.host == is.host && is.is_insecure() => {
            remarks.add(Block, codes::LOCKFILE_INSECURE, at, || {
                format!("{} comes from {is}, and came from {was}", new.title())
            });
        }
        // Safer than before.
        (Source::Web(was), Source::Web(is)) if was.host == is.host && was.is_insecure() => {}
        (Source::Git(was, _), Source::Git(is, revision)) if was == is => {
            remarks.add(Block, codes::LOCKFILE_GIT_REVISION, at, || {
                let (title, revision) = (new.title(), shown(revision));
                format!("{title} is at another revision of its repository, {revision}")
            });
        }
        (Source::Path(_), Source::Path(_)) => {}
        // No longer part of another archive.
        (Source::Bundled, Source::Web(_) | Source::Unstated) if new.integrity.is_some() => {}
        _ => remarks.add(Block, codes::LOCKFILE_SOURCE, at, || {
            let title = new.title();
            format!(
                "{title} comes from {}, and came from {}",
                new.source, old.source
            )
        }),
    }
}

fn changed_contents(old: &LockedPackage<'_>, new: &LockedPackage<'_>, remarks: &mut FileFindings) {
    let at = Some(new.at);
    if old.alias != new.alias {
        remarks.add(Block, codes::LOCKFILE_ALIAS, at, || {
            let other = new.alias.as_ref().unwrap_or(&new.name);
            format!(
                "{} has the contents of another package, {}",
                new.title(),
                shown(other)
            )
        });
    }
    match (&old.integrity, &new.integrity) {
        (Some(_), None) => remarks.add(Block, codes::LOCKFILE_INTEGRITY, at, || {
            format!("{} has no hash any more", new.title())
        }),
        (Some(was), Some(is)) if was != is => {
            remarks.add(Block, codes::LOCKFILE_INTEGRITY, at, || {
                format!("{} has another hash, so other contents", new.title())
            })
        }
        _ => {}
    }
}

/// Something new: a file of a known version, a version of a known name, or a name.
fn new_key(
    old: &Index<'_>,
    key: &Key<'_>,
    locked_packages: &[&LockedPackage<'_>],
    remarks: &mut FileFindings,
) {
    let (name, version, file) = *key;
    for pair in locked_packages.windows(2) {
        if let [a, b] = pair
            && a.source == b.source
            && unlike(a, b)
        {
            remarks.add(Block, codes::LOCKFILE_CONFLICT, Some(b.at), || {
                format!("{} has two hashes that differ", b.title())
            });
        }
    }
    for locked_package in locked_packages {
        origin(old, locked_package, remarks);
    }
    if let Some(first) = locked_packages.first()
        && !file.is_empty()
        && old.has_version(name, version)
    {
        remarks.add(Warn, codes::LOCKFILE_NEW_FILE, Some(first.at), || {
            format!("{} has one more file, {}", first.title(), shown(file))
        });
    }
}

/// Whether two hashes of the same algorithm differ.
fn unlike(a: &LockedPackage<'_>, b: &LockedPackage<'_>) -> bool {
    fn algorithm(hash: &str) -> Option<&str> {
        hash.split(['-', ':', '=']).next()
    }
    match (&a.integrity, &b.integrity) {
        (Some(a), Some(b)) => a != b && algorithm(a) == algorithm(b),
        _ => false,
    }
}

/// Versions all of whose hashed files were replaced.
fn replaced_files(old: &Index<'_>, new: &Index<'_>, remarks: &mut FileFindings) {
    let mut done = None;
    for ((name, version, file), locked_packages) in new.keys() {
        if file.is_empty() || done == Some((name, version)) {
            continue;
        }
        done = Some((name, version));
        let was: HashSet<&str> = old.files(name, version).filter_map(hash).collect();
        if was.is_empty() {
            continue;
        }
        let mut is = new.files(name, version).filter_map(hash);
        if let Some(locked_package) = locked_packages.first()
            && !is.any(|hash| was.contains(hash))
        {
            remarks.add(
                Block,
                codes::LOCKFILE_INTEGRITY,
                Some(locked_package.at),
                || {
                    format!(
                        "{} has none of its known files any more",
                        locked_package.title()
                    )
                },
            );
        }
    }
}

fn hash<'p>(locked_package: &'p LockedPackage<'_>) -> Option<&'p str> {
    locked_package.integrity.as_deref()
}
