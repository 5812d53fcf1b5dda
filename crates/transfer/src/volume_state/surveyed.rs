//! `Surveyed`: a state that lacks the digests of what is still to be fetched.

use std::collections::BTreeMap;

use lazaret_protocol::{FoundKind, SurveyError, VolumeIdentity, Wanted};
use lazaret_tree::{Digest, Entry, Mode, RelPathBuf, Tree};

use super::{Held, Origin, VolumeState};
use crate::collection::NotAsSurveyed;

/// What a survey found, its new files without their contents where it was asked
/// [without](lazaret_protocol::Digests::OfKnown).
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "what was not read is not in a state yet"]
pub struct Surveyed {
    pub(super) state: VolumeState,
    pub(super) unread: BTreeMap<RelPathBuf, Unread>,
}

/// A file that is new, and was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unread {
    identity: VolumeIdentity,
    links: u32,
}

impl Unread {
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

impl From<VolumeState> for Surveyed {
    /// Everything was read.
    fn from(state: VolumeState) -> Self {
        let unread = BTreeMap::new();
        Self { state, unread }
    }
}

impl Surveyed {
    /// Returns the state of a survey that was asked for all digests.
    ///
    /// # Errors
    /// When it left one out.
    pub fn whole(self) -> Result<VolumeState, SurveyError> {
        match self.unread.keys().next() {
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
        wanted.extend(self.unread.iter().map(|(path, unread)| Wanted {
            path: path.clone(),
            identity: unread.identity,
            digest: None,
        }));
        wanted.sort_by(|one, next| one.path.cmp(&next.path));
        wanted
    }

    /// Returns the state, once everything that was [wanted](Self::wanted) has arrived.
    ///
    /// # Errors
    /// The first file that was not read and did not arrive as long as it was found.
    pub fn arrived(self, arrived: &Tree) -> Result<VolumeState, NotAsSurveyed> {
        let Self { mut state, unread } = self;
        for (path, Unread { identity, links }) in unread {
            match arrived.get(&path) {
                Some(Entry::File { size, digest, .. }) if *size == identity.size => {
                    let held = Held {
                        entry: file(identity, *digest),
                        identity,
                        origin: Origin::Found { links },
                    };
                    state.held.insert(path, held);
                }
                _ => return Err(NotAsSurveyed { path }),
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
