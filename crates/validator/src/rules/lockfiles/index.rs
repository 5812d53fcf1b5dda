//! `Index`: the statements of a lockfile by what they are about.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, Hash as _, Hasher as _, RandomState};

use super::lock::{Lock, LockedPackage};
use super::source::Source;

/// Name, version and file.
pub(super) type Key<'l> = (&'l str, &'l str, &'l str);

/// What a statement says about its key; what stays the same is equal here.
pub(super) type PackageIdentity<'p> = (
    &'p Source<'p>,
    Option<&'p Cow<'p, str>>,
    Option<&'p Cow<'p, str>>,
);

pub(super) fn identity<'p>(locked_package: &'p LockedPackage<'_>) -> PackageIdentity<'p> {
    (
        &locked_package.source,
        locked_package.alias.as_ref(),
        locked_package.integrity.as_ref(),
    )
}

fn key<'l>(locked_package: &'l LockedPackage<'_>) -> Key<'l> {
    (
        &*locked_package.name,
        &*locked_package.version,
        &*locked_package.file,
    )
}

/// A lockfile's statements by what they are about. Sorted lists, because trees and tables of
/// as many entries take several times the room.
pub(super) struct Index<'l> {
    /// Sorted by key and substance, without repetitions.
    locked_packages: Vec<&'l LockedPackage<'l>>,
    /// Sorted by name.
    names: Vec<Named<'l>>,
    pub(super) hosts: BTreeSet<&'l str>,
}

/// What is said about one name in all.
pub(super) struct Named<'l> {
    name: &'l str,
    /// Whether all of it comes from registries or archives.
    pub(super) from_registry: bool,
    pub(super) aliases: BTreeSet<&'l str>,
    /// A hash of all of it, to tell whether anything changed.
    print: u64,
}

impl<'l> Index<'l> {
    /// Two indexes that are compared must have the same `hasher`.
    pub(super) fn of(lock: &'l Lock<'_>, hasher: &RandomState) -> Self {
        let mut locked_packages: Vec<&'l LockedPackage<'l>> = lock.locked_packages.iter().collect();
        locked_packages.sort_unstable_by(|a, b| {
            let by_key = key(a).cmp(&key(b));
            by_key
                .then_with(|| identity(a).cmp(&identity(b)))
                .then(a.at.cmp(&b.at))
        });
        locked_packages.dedup_by(|a, b| key(a) == key(b) && identity(a) == identity(b));
        let names = locked_packages.chunk_by(|a, b| a.name == b.name);
        let mut names: Vec<Named<'l>> = names
            .filter_map(|locked_packages| Named::of(locked_packages, hasher))
            .collect();
        names.shrink_to_fit();
        let addresses = lock
            .locked_packages
            .iter()
            .filter_map(|locked_package| locked_package.source.address());
        Self {
            locked_packages,
            names,
            hosts: addresses.map(|address| &*address.host).collect(),
        }
    }

    /// Iterates over the keys, each with what is said about it, sorted by substance.
    pub(super) fn keys(&self) -> impl Iterator<Item = (Key<'l>, &[&'l LockedPackage<'l>])> {
        let chunks = self.locked_packages.chunk_by(|a, b| key(a) == key(b));
        chunks.filter_map(|locked_packages| Some((key(locked_packages.first()?), locked_packages)))
    }

    /// Returns what is said about a key, sorted by substance.
    pub(super) fn get(&self, wanted: &Key<'_>) -> Option<&[&'l LockedPackage<'l>]> {
        let rest = self.from(wanted);
        let end = rest.partition_point(|locked_package| key(locked_package) == *wanted);
        rest.get(..end)
            .filter(|locked_packages| !locked_packages.is_empty())
    }

    /// Returns what is said about a name.
    pub(super) fn named(&self, name: &str) -> Option<&Named<'l>> {
        let found = self.names.binary_search_by(|named| named.name.cmp(name));
        self.names.get(found.ok()?)
    }

    /// Returns the statements about the files of one version.
    pub(super) fn files<'i>(
        &'i self,
        name: &'i str,
        version: &'i str,
    ) -> impl Iterator<Item = &'l LockedPackage<'l>> + 'i {
        let all = self.from(&(name, version, "")).iter().copied();
        let own = all.take_while(move |locked_package| {
            locked_package.name == name && locked_package.version == version
        });
        own.filter(|locked_package| !locked_package.file.is_empty())
    }

    pub(super) fn has_version(&self, name: &str, version: &str) -> bool {
        let next = self.from(&(name, version, "")).first();
        next.is_some_and(|locked_package| {
            locked_package.name == name && locked_package.version == version
        })
    }

    /// The statements about this key and those behind it.
    fn from(&self, wanted: &Key<'_>) -> &[&'l LockedPackage<'l>] {
        let start = self
            .locked_packages
            .partition_point(|locked_package| key(locked_package) < *wanted);
        self.locked_packages.get(start..).unwrap_or_default()
    }

    /// How many packages differ, by name.
    pub(super) fn counts(&self, new: &Self) -> String {
        let (mut added, mut updated) = (0, 0);
        for named in &new.names {
            match self.named(named.name) {
                None => added += 1,
                Some(old) if old.print != named.print => updated += 1,
                Some(_) => {}
            }
        }
        let old = self.names.iter();
        let removed = old.filter(|named| new.named(named.name).is_none()).count();
        match added + removed + updated {
            0 => "no package changed, but something else did".to_owned(),
            _ => format!("packages: {added} added, {removed} removed, {updated} updated"),
        }
    }
}

impl<'l> Named<'l> {
    /// Takes the statements about one name.
    fn of(locked_packages: &[&'l LockedPackage<'l>], hasher: &RandomState) -> Option<Self> {
        let mut print = hasher.build_hasher();
        for locked_package in locked_packages {
            (key(locked_package), identity(locked_package)).hash(&mut print);
        }
        let from_registry = |locked_package: &&LockedPackage<'_>| {
            matches!(locked_package.source, Source::Unstated | Source::Web(_))
        };
        Some(Self {
            name: &locked_packages.first()?.name,
            from_registry: locked_packages.iter().all(from_registry),
            aliases: locked_packages
                .iter()
                .filter_map(|locked_package| locked_package.alias.as_deref())
                .collect(),
            print: print.finish(),
        })
    }
}
