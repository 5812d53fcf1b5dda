//! `VolumeState`: what is known to lie in a volume, entry by entry.

mod advance;
mod collect;
mod file;
mod pending;

use std::collections::BTreeMap;
use std::ops::Bound;

use lazaret_tree::{Entry, RelPath, RelPathBuf, Tree};

use lazaret_protocol::{
    FoundKind, HashPolicy, Receipt, StreamLimits, SurveyError, SurveyRequest, VolumeIdentity,
    Writers,
};
pub use pending::PendingSurvey;

/// Everything that lies in a volume, as it was when it was seen last.
///
/// A receipt starts it, every survey and every update advances it. The host keeps it
/// beside the baseline, and asks a survey only for what differs: so an entry is read once,
/// however often the session goes on.
///
/// Invariant: every parent of a held entry is itself held, as a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VolumeState {
    known: BTreeMap<RelPathBuf, KnownEntry>,
    /// What lazaret does not carry, by raw path: odd types, caches, names and link targets
    /// that break a rule. What lies below is not known.
    unsupported: BTreeMap<Vec<u8>, FoundKind>,
}

/// An entry that lazaret carries, and what tells it from any later state.
#[derive(Debug, Clone, PartialEq, Eq)]
struct KnownEntry {
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
pub(crate) enum VolumeEntry<'a> {
    Absent,
    Known(&'a Entry),
    /// A cache directory, which is not entered.
    Cache,
    /// Anything else that is not carried, and no directory that was entered.
    Unsupported,
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
        let known = sent.iter().map(|(path, entry)| {
            let (named, identity) = identities.next().ok_or_else(|| contradiction(path))?;
            if **named != *path {
                return Err(contradiction(named));
            }
            let known = KnownEntry {
                entry: entry.clone(),
                identity: *identity,
                origin: Origin::Sent,
            };
            Ok((path.to_owned(), known))
        });
        let known = known.collect::<Result<_, _>>()?;
        match identities.next() {
            Some((path, _)) => Err(contradiction(path)),
            None => Ok(Self {
                known,
                unsupported: BTreeMap::new(),
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
        let told = self.known.iter().filter(|(path, known)| {
            // Any other directory may have become a cache since.
            known.entry != Entry::Dir || baseline.get(path) == Some(&Entry::Dir)
        });
        let known = told.map(|(path, known)| (path.clone(), known.identity));
        SurveyRequest {
            limits,
            writers,
            hash_policy: HashPolicy::All,
            known: known.collect(),
        }
    }

    /// Returns everything that is carried.
    pub fn tree(&self) -> Tree {
        let known = self.known.iter();
        known
            .map(|(path, known)| (path.clone(), known.entry.clone()))
            .collect()
    }

    /// Returns true if a survey has seen every directory of the volume: then none is deeper
    /// than [`MAX_DEPTH`](lazaret_tree::MAX_DEPTH). Caches are not looked into, and neither is what
    /// has a name that breaks a rule.
    pub fn is_seen_whole(&self) -> bool {
        let mut unsupported = self.unsupported.values();
        !unsupported.any(|kind| matches!(kind, FoundKind::Cache | FoundKind::BadName))
    }

    /// Looks a carried entry up.
    pub fn get(&self, path: &RelPath) -> Option<&Entry> {
        self.known.get(path).map(|known| &known.entry)
    }

    /// Iterates over what is carried, in path order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&RelPath, &Entry)> {
        let known = self.known.iter();
        known.map(|(path, known)| (&**path, &known.entry))
    }

    /// Says what lies at `path`.
    pub(crate) fn at(&self, path: &RelPath) -> VolumeEntry<'_> {
        match (
            self.known.get(path),
            self.unsupported.get(path.as_str().as_bytes()),
        ) {
            (Some(known), _) => VolumeEntry::Known(&known.entry),
            (None, Some(FoundKind::Cache)) => VolumeEntry::Cache,
            (None, Some(_)) => VolumeEntry::Unsupported,
            (None, None) => VolumeEntry::Absent,
        }
    }

    /// Iterates over what is carried below `path`, without `path` itself.
    pub(crate) fn below<'a>(
        &'a self,
        path: &'a RelPath,
    ) -> impl Iterator<Item = (&'a RelPath, &'a Entry)> {
        self.known
            .range::<RelPath, _>((Bound::Excluded(path), Bound::Unbounded))
            .map(|(other, known)| (&**other, &known.entry))
            .take_while(move |(other, _)| other.starts_with(path))
    }

    /// Iterates over what is not carried, by raw path.
    pub(crate) fn unsupported(&self) -> impl Iterator<Item = (&[u8], &FoundKind)> {
        self.unsupported.iter().map(|(name, kind)| (&**name, kind))
    }

    /// Iterates over what is not carried and lies below `path`.
    pub(crate) fn unsupported_below(
        &self,
        path: &RelPath,
    ) -> impl Iterator<Item = (&[u8], &FoundKind)> {
        let mut prefix = path.as_str().as_bytes().to_vec();
        prefix.push(b'/');
        // `0` is the byte after `/`.
        let mut end = path.as_str().as_bytes().to_vec();
        end.push(b'0');
        self.unsupported
            .range(prefix..end)
            .map(|(name, kind)| (&**name, kind))
    }
}
