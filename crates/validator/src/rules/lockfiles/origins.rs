//! `origins`: where the packages of a lockfile come from, against where they came from before.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::index::Index;
use super::lock::{Lock, LockedPackage};
use super::source::Source;
use crate::Severity::{Block, Warn};
use crate::codes;
use crate::file_findings::FileFindings;
use crate::shown::shown;

/// Where something new comes from.
pub(super) fn origin(
    old: &Index<'_>,
    locked_package: &LockedPackage<'_>,
    remarks: &mut FileFindings,
) {
    let at = Some(locked_package.at);
    if let Some(address) = locked_package
        .source
        .address()
        .filter(|address| address.is_insecure())
    {
        remarks.add(Warn, codes::LOCKFILE_INSECURE, at, || {
            let title = locked_package.title();
            format!("{title} comes from {address}, which others on the way can change")
        });
    }
    if let Source::Git(..) = locked_package.source {
        remarks.add(Warn, codes::LOCKFILE_GIT, at, || {
            format!(
                "{} comes from {}",
                locked_package.title(),
                locked_package.source
            )
        });
    }
    if is_misnamed(locked_package) {
        remarks.add(Block, codes::LOCKFILE_MISNAMED, at, || {
            format!(
                "{} comes from the archive of another package",
                locked_package.title()
            )
        });
    }
    let named = old.named(&locked_package.name);
    if named.is_some_and(|named| named.from_registry)
        && matches!(locked_package.source, Source::Git(..) | Source::Path(_))
    {
        // Without a version nothing says that it is another one.
        let severity = if locked_package.version.is_empty() {
            Block
        } else {
            Warn
        };
        remarks.add(severity, codes::LOCKFILE_MOVED, at, || {
            let title = locked_package.title();
            format!(
                "{title} comes from {}, and came from a registry",
                locked_package.source
            )
        });
    }
    if let Some(alias) = &locked_package.alias
        && !named.is_some_and(|named| named.aliases.contains(&**alias))
    {
        remarks.add(Warn, codes::LOCKFILE_ALIAS, at, || {
            format!(
                "{} has the contents of another package, {}",
                locked_package.title(),
                shown(alias)
            )
        });
    }
}

/// Whether an archive of an npm registry, `…/NAME/-/BASE-1.0.0.tgz`, is of another package
/// than the one that it is installed as.
fn is_misnamed(locked_package: &LockedPackage<'_>) -> bool {
    let Source::Web(address) = &locked_package.source else {
        return false;
    };
    let path = address.rest.split(['?', '#']).next().unwrap_or_default();
    let Some((place, file)) = path.rsplit_once("/-/") else {
        return false;
    };
    if !file.ends_with(".tgz") {
        return false;
    }
    let name = locked_package
        .alias
        .as_ref()
        .unwrap_or(&locked_package.name)
        .to_lowercase();
    let place = place.to_lowercase().replace("%2f", "/").replace("%40", "@");
    let rest = place.strip_suffix(&*name);
    !rest.is_some_and(|rest| rest.ends_with('/'))
}

/// Hosts that nothing came from before, once each.
pub(super) fn new_hosts(old: &Index<'_>, new: &Lock<'_>, remarks: &mut FileFindings) {
    let mut hosts: BTreeMap<&str, (usize, &LockedPackage<'_>)> = BTreeMap::new();
    for locked_package in &new.locked_packages {
        let host = locked_package
            .source
            .address()
            .map(|address| &*address.host);
        // A lockfile whose first package comes from where the tool looks by itself.
        let is_first = || old.hosts.is_empty() && locked_package.source.is_usual();
        if let Some(host) = host.filter(|host| !old.hosts.contains(host) && !is_first()) {
            hosts.entry(host).or_insert((0, locked_package)).0 += 1;
        }
    }
    for (count, locked_package) in hosts.into_values() {
        let Some(address) = locked_package.source.address() else {
            continue;
        };
        remarks.add(
            Warn,
            codes::LOCKFILE_NEW_SOURCE,
            Some(locked_package.at),
            || {
                let title = locked_package.title();
                match count {
                    1 => format!("nothing came from {address} before, and now {title} does"),
                    _ => format!(
                        "nothing came from {address} before, and now {title} and {} more do",
                        count - 1
                    ),
                }
            },
        );
    }
}

/// Hosts beside the most common one of a lockfile that can't be compared.
pub(super) fn mixed_hosts(lock: &Lock<'_>, remarks: &mut FileFindings) {
    // An index and its files are on different hosts by design.
    for is_file in [false, true] {
        let mut hosts: BTreeMap<&str, (usize, &LockedPackage<'_>)> = BTreeMap::new();
        for locked_package in lock
            .locked_packages
            .iter()
            .filter(|locked_package| locked_package.file.is_empty() != is_file)
        {
            if let Source::Web(address) = &locked_package.source {
                hosts.entry(&address.host).or_insert((0, locked_package)).0 += 1;
            }
        }
        let common = hosts
            .iter()
            .max_by_key(|(_, (count, locked_package))| (*count, Reverse(locked_package.at)));
        let common = common.map(|(host, _)| *host);
        for (host, (count, locked_package)) in hosts {
            if Some(host) != common {
                remarks.add(
                    Warn,
                    codes::LOCKFILE_MIXED_SOURCES,
                    Some(locked_package.at),
                    || {
                        let (host, title) = (shown(host), locked_package.title());
                        format!(
                            "not all is from one place: {count} from {host}, the first is {title}"
                        )
                    },
                );
            }
        }
    }
}
