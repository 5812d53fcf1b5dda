//! `VolumeState`: what is known to lie in a volume, entry by entry.

mod advance;
mod collect;
mod file;
mod ground;
mod surveyed;

use std::collections::BTreeMap;
use std::ops::Bound;

use lazaret_tree::{Entry, RelPath, RelPathBuf, Tree};

use lazaret_protocol::{
    Digests, FoundKind, Receipt, StreamLimits, SurveyError, SurveyRequest, VolumeIdentity, Writers,
};
pub use surveyed::Surveyed;

/// Everything that lies in a volume, as it was when it was seen last.
///
/// A receipt starts it, every survey and every update advances it. The host keeps it
/// beside the baseline, and asks a survey only for what differs: so an entry is read once,
/// however often the session goes on.
///
/// Invariant: every parent of a held entry is itself held, as a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VolumeState {
    held: BTreeMap<RelPathBuf, Held>,
    /// What lazaret does not carry, by raw path: odd types, caches, names and link targets
    /// that break a rule. What lies below is not known.
    others: BTreeMap<Vec<u8>, FoundKind>,
}

/// An entry that lazaret carries, and what tells it from any later state.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Held {
    entry: Entry,
    identity: VolumeIdentity,
    origin: Origin,
}

/// Who wrote an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The porter, from what the host sent.
    Sent,
    /// A survey found it, with that many names.
    Found { links: u32 },
}

/// What lies at a path of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At<'a> {
    Nothing,
    Held(&'a Entry),
    /// A cache directory, which is not entered.
    Cache,
    /// Anything else that is not carried, and no directory that was entered.
    Other,
}

impl VolumeState {
    /// Starts from a stream that has arrived.
    ///
    /// # Errors
    /// When the receipt is for other paths than those that were sent.
    pub fn received(sent: &Tree, receipt: &Receipt) -> Result<Self, SurveyError> {
        let contradiction = |path: &RelPath| SurveyError::Contradiction {
            name: path.as_str().as_bytes().to_vec(),
        };
        let mut identities = receipt.identities.iter();
        let held = sent.iter().map(|(path, entry)| {
            let (named, identity) = identities.next().ok_or_else(|| contradiction(path))?;
            if **named != *path {
                return Err(contradiction(named));
            }
            let held = Held {
                entry: entry.clone(),
                identity: *identity,
                origin: Origin::Sent,
            };
            Ok((path.to_owned(), held))
        });
        let held = held.collect::<Result<_, _>>()?;
        match identities.next() {
            Some((path, _)) => Err(contradiction(path)),
            None => Ok(Self {
                held,
                others: BTreeMap::new(),
            }),
        }
    }

    /// Asks what differs from this state, with the digest of every file that does.
    pub fn request(
        &self,
        limits: StreamLimits,
        writers: Writers,
        baseline: &Tree,
    ) -> SurveyRequest {
        let told = self.held.iter().filter(|(path, held)| {
            // Any other directory may have become a cache since.
            held.entry != Entry::Dir || baseline.get(path) == Some(&Entry::Dir)
        });
        let known = told.map(|(path, held)| (path.clone(), held.identity));
        SurveyRequest {
            limits,
            writers,
            digests: Digests::All,
            known: known.collect(),
        }
    }

    /// Returns everything that is carried.
    pub fn tree(&self) -> Tree {
        let held = self.held.iter();
        held.map(|(path, held)| (path.clone(), held.entry.clone()))
            .collect()
    }

    /// Returns true if a survey has seen every directory of the volume: then none is deeper
    /// than [`MAX_DEPTH`](lazaret_tree::MAX_DEPTH). Caches are not looked into, and neither is what
    /// has a name that breaks a rule.
    pub fn is_seen_whole(&self) -> bool {
        let mut others = self.others.values();
        !others.any(|kind| matches!(kind, FoundKind::Cache | FoundKind::BadName))
    }

    /// Looks a carried entry up.
    pub fn get(&self, path: &RelPath) -> Option<&Entry> {
        self.held.get(path).map(|held| &held.entry)
    }

    /// Iterates over what is carried, in path order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&RelPath, &Entry)> {
        let held = self.held.iter();
        held.map(|(path, held)| (&**path, &held.entry))
    }

    /// Says what lies at `path`.
    pub(crate) fn at(&self, path: &RelPath) -> At<'_> {
        match (
            self.held.get(path),
            self.others.get(path.as_str().as_bytes()),
        ) {
            (Some(held), _) => At::Held(&held.entry),
            (None, Some(FoundKind::Cache)) => At::Cache,
            (None, Some(_)) => At::Other,
            (None, None) => At::Nothing,
        }
    }

    /// Iterates over what is carried below `path`, without `path` itself.
    pub(crate) fn below<'a>(
        &'a self,
        path: &'a RelPath,
    ) -> impl Iterator<Item = (&'a RelPath, &'a Entry)> {
        self.held
            .range::<RelPath, _>((Bound::Excluded(path), Bound::Unbounded))
            .map(|(other, held)| (&**other, &held.entry))
            .take_while(move |(other, _)| other.starts_with(path))
    }

    /// Iterates over what is not carried, by raw path.
    pub(crate) fn others(&self) -> impl Iterator<Item = (&[u8], &FoundKind)> {
        self.others.iter().map(|(name, kind)| (&**name, kind))
    }

    /// Iterates over what is not carried and lies below `path`.
    pub(crate) fn others_below(&self, path: &RelPath) -> impl Iterator<Item = (&[u8], &FoundKind)> {
        let mut prefix = path.as_str().as_bytes().to_vec();
        prefix.push(b'/');
        // `0` is the byte after `/`.
        let mut end = path.as_str().as_bytes().to_vec();
        end.push(b'0');
        self.others
            .range(prefix..end)
            .map(|(name, kind)| (&**name, kind))
    }
}
