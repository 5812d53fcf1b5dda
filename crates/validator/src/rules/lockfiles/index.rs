//! `Index`: the statements of a lockfile by what they are about.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, Hash as _, Hasher as _, RandomState};

use super::lock::{Lock, Pin};
use super::source::Source;

/// Name, version and file.
pub(super) type Key<'l> = (&'l str, &'l str, &'l str);

/// What a statement says about its key; what stays the same is equal here.
pub(super) type Substance<'p> = (
    &'p Source<'p>,
    Option<&'p Cow<'p, str>>,
    Option<&'p Cow<'p, str>>,
);

pub(super) fn substance<'p>(pin: &'p Pin<'_>) -> Substance<'p> {
    (&pin.source, pin.alias.as_ref(), pin.integrity.as_ref())
}

/// A lockfile's statements by what they are about.
pub(super) struct Index<'l> {
    /// Each list sorted by substance, without repetitions.
    pub(super) by_key: BTreeMap<Key<'l>, Vec<&'l Pin<'l>>>,
    pub(super) names: BTreeMap<&'l str, Named<'l>>,
    pub(super) hosts: BTreeSet<&'l str>,
}

/// What is said about one name in all.
pub(super) struct Named<'l> {
    /// Whether all of it comes from registries or archives.
    pub(super) from_registry: bool,
    pub(super) aliases: BTreeSet<&'l str>,
    /// A hash of all of it, to tell whether anything changed.
    print: u64,
}

impl<'l> Index<'l> {
    /// Two indexes that are compared must have the same `hasher`.
    pub(super) fn of(lock: &'l Lock<'_>, hasher: &RandomState) -> Self {
        let mut by_key: BTreeMap<Key<'l>, Vec<&'l Pin<'l>>> = BTreeMap::new();
        for pin in &lock.pins {
            let key = (&*pin.name, &*pin.version, &*pin.file);
            by_key.entry(key).or_default().push(pin);
        }
        let mut names: BTreeMap<&'l str, Named<'l>> = BTreeMap::new();
        for (key, pins) in &mut by_key {
            pins.sort_by(|a, b| substance(a).cmp(&substance(b)).then(a.at.cmp(&b.at)));
            pins.dedup_by(|a, b| substance(a) == substance(b));
            let named = names.entry(key.0).or_insert_with(|| Named {
                from_registry: true,
                aliases: BTreeSet::new(),
                print: 0,
            });
            let mut print = hasher.build_hasher();
            (named.print, key).hash(&mut print);
            for pin in pins {
                substance(pin).hash(&mut print);
                named.from_registry &= matches!(pin.source, Source::Unstated | Source::Web(_));
                named.aliases.extend(pin.alias.as_deref());
            }
            named.print = print.finish();
        }
        let addresses = lock.pins.iter().filter_map(|pin| pin.source.address());
        Self {
            by_key,
            names,
            hosts: addresses.map(|address| &*address.host).collect(),
        }
    }

    /// Returns the statements about the files of one version.
    pub(super) fn files<'i>(
        &'i self,
        name: &'i str,
        version: &'i str,
    ) -> impl Iterator<Item = &'l Pin<'l>> + 'i {
        let all = self.by_key.range((name, version, "")..);
        let own = all.take_while(move |((n, v, _), _)| *n == name && *v == version);
        let files = own.filter(|((_, _, file), _)| !file.is_empty());
        files.flat_map(|(_, pins)| pins.iter().copied())
    }

    pub(super) fn has_version(&self, name: &str, version: &str) -> bool {
        let next = self.by_key.range((name, version, "")..).next();
        next.is_some_and(|((n, v, _), _)| *n == name && *v == version)
    }

    /// How many packages differ, by name.
    pub(super) fn counts(&self, new: &Self) -> String {
        let (mut added, mut updated) = (0, 0);
        for (name, named) in &new.names {
            match self.names.get(name) {
                None => added += 1,
                Some(old) if old.print != named.print => updated += 1,
                Some(_) => {}
            }
        }
        let removed = self
            .names
            .keys()
            .filter(|name| !new.names.contains_key(*name));
        let removed = removed.count();
        match added + removed + updated {
            0 => "no package changed, but something else did".to_owned(),
            _ => format!("packages: {added} added, {removed} removed, {updated} updated"),
        }
    }
}
