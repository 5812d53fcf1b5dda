//! `PendingSurvey`: a state that lacks the digests of what is still to be fetched.

use std::collections::BTreeMap;

use lazaret_protocol::{FoundKind, SurveyError, VolumeIdentity, Wanted};
use lazaret_tree::{Digest, Entry, Mode, RelPathBuf, Tree};

use super::{KnownEntry, Origin, VolumeState};
use crate::collection::SurveyMismatch;

/// What a survey found, its new files without their contents where it was asked
/// [without](lazaret_protocol::HashPolicy::KnownOnly).
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "what was not read is not in a state yet"]
pub struct PendingSurvey {
    pub(super) state: VolumeState,
    pub(super) unhashed: BTreeMap<RelPathBuf, UnhashedFile>,
}

/// A file that is new, and was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnhashedFile {
    identity: VolumeIdentity,
    links: u32,
}

impl UnhashedFile {
    pub(super) fn of(kind: &FoundKind) -> Option<Self> {
        match *kind {
            FoundKind::File {
                identity,
                links,
                digest: None,
            } => Some(Self { identity, links }),
            _ => None,
        }
    }

    pub(super) fn size(&self) -> u64 {
        self.identity.size
    }
}

impl From<VolumeState> for PendingSurvey {
    /// Everything was read.
    fn from(state: VolumeState) -> Self {
        let unhashed = BTreeMap::new();
        Self { state, unhashed }
    }
}

impl PendingSurvey {
    /// Returns the state of a survey that was asked for all digests.
    ///
    /// # Errors
    /// When it left one out.
    pub fn whole(self) -> Result<VolumeState, SurveyError> {
        match self.unhashed.keys().next() {
            None => Ok(self.state),
            Some(path) => Err(SurveyError::Contradiction {
                name: path.as_str().as_bytes().to_vec(),
            }),
        }
    }

    /// Lists the files that have to be fetched, in path order: those of
    /// [`VolumeState::wanted`], and every one that was not read.
    pub fn wanted(&self, baseline: &Tree) -> Vec<Wanted> {
        let mut wanted = self.state.wanted(baseline);
        wanted.extend(self.unhashed.iter().map(|(path, unhashed)| Wanted {
            path: path.clone(),
            identity: unhashed.identity,
            digest: None,
        }));
        wanted.sort_by(|one, next| one.path.cmp(&next.path));
        wanted
    }

    /// Returns the state, once everything that was [wanted](Self::wanted) has arrived.
    ///
    /// # Errors
    /// The first file that was not read and did not arrive as long as it was found.
    pub fn arrived(self, arrived: &Tree) -> Result<VolumeState, SurveyMismatch> {
        let Self {
            mut state,
            unhashed,
        } = self;
        for (path, UnhashedFile { identity, links }) in unhashed {
            match arrived.get(&path) {
                Some(Entry::File { size, digest, .. }) if *size == identity.size => {
                    let known = KnownEntry {
                        entry: file(identity, *digest),
                        identity,
                        origin: Origin::Found { links },
                    };
                    state.known.insert(path, known);
                }
                _ => return Err(SurveyMismatch { path }),
            }
        }
        Ok(state)
    }
}

/// A file as the host carries it.
pub(super) fn file(identity: VolumeIdentity, digest: Digest) -> Entry {
    Entry::File {
        mode: Mode::from_unix(identity.mode),
        size: identity.size,
        digest,
    }
}
