//! A state, advanced by what a survey or an update says.

use std::collections::{BTreeMap, BTreeSet};

use lazaret_protocol::{
    FoundEntry, FoundKind, Survey, SurveyError, UpdateReceipt, UpdateRequest, Wanted,
};
use lazaret_tree::{Entry, LinkTarget, RelPath, RelPathBuf, RelPathError, Tree};

use super::pending::{UnhashedFile, file};
use super::{KnownEntry, Origin, PendingSurvey, VolumeState};

impl VolumeState {
    /// Applies the differences that a survey told, but for files that it did not read.
    /// `baseline` is the one of the [request](VolumeState::request).
    ///
    /// # Errors
    /// When the survey has names that no file system can hold, or contradicts itself or
    /// what was known: then nothing of it can be believed.
    pub fn surveyed(
        mut self,
        survey: Survey,
        baseline: &Tree,
    ) -> Result<PendingSurvey, SurveyError> {
        self.unsupported.clear();
        self.known.retain(|path, known| {
            known.entry != Entry::Dir || baseline.get(path) == Some(&Entry::Dir)
        });
        let mut gone: BTreeSet<RelPathBuf> = BTreeSet::new();
        for name in survey.gone {
            let Ok(path) = RelPath::from_bytes(&name) else {
                return Err(SurveyError::Name { name });
            };
            let known = self.known.remove(path).is_some();
            if !known || !gone.insert(path.to_owned()) {
                return Err(SurveyError::Contradiction { name });
            }
        }
        if let Some(name) = twice(&survey.found) {
            let name = name.to_vec();
            return Err(SurveyError::Contradiction { name });
        }
        let mut unhashed = BTreeMap::new();
        for FoundEntry { name, kind } in survey.found {
            match RelPath::from_bytes(&name) {
                Ok(path) if gone.contains(path) || kind == FoundKind::BadName => {
                    return Err(SurveyError::Contradiction { name });
                }
                Ok(path) => {
                    if let Some(file) = UnhashedFile::of(&kind) {
                        unhashed.insert(path.to_owned(), file);
                    } else {
                        self.take(path.to_owned(), kind);
                    }
                }
                Err(error) => {
                    possible(&name, error)?;
                    self.unsupported.insert(name, kind);
                }
            }
        }
        let is_dir = |path: &RelPath| self.get(path) == Some(&Entry::Dir);
        let misplaced = unhashed.iter().find(|(path, file)| {
            // What was known has to be read: it may be what it was; and so has what is never
            // fetched.
            self.known.contains_key(*path)
                || !Wanted::covers(path, file.size())
                || path.parent().is_some_and(|parent| !is_dir(parent))
        });
        match misplaced
            .map(|(path, _)| path.clone())
            .or_else(|| self.orphan())
        {
            Some(path) => Err(SurveyError::Contradiction {
                name: path.as_str().as_bytes().to_vec(),
            }),
            None => Ok(PendingSurvey {
                state: self,
                unhashed,
            }),
        }
    }

    /// Applies what an update did.
    ///
    /// # Errors
    /// When the receipt is for something else than the order.
    pub fn updated(
        mut self,
        request: &UpdateRequest,
        receipt: &UpdateReceipt,
    ) -> Result<Self, SurveyError> {
        let contradiction = |path: &RelPath| SurveyError::Contradiction {
            name: path.as_str().as_bytes().to_vec(),
        };
        for path in &request.remove {
            if receipt.stayed.binary_search(path).is_err() {
                self.known.remove(path);
                self.unsupported.remove(path.as_str().as_bytes());
            }
        }
        let written = Self::received(&request.send, &receipt.written)?;
        for (path, known) in written.known {
            self.unsupported.remove(path.as_str().as_bytes());
            self.known.insert(path, known);
        }
        let sent = request.send.iter().map(|(path, _)| path);
        let removed = request.remove.iter().map(|path| &**path);
        match self.orphan_at(sent.chain(removed)) {
            Some(path) => Err(contradiction(&path)),
            None => Ok(self),
        }
    }

    /// Takes what lies at a good path.
    fn take(&mut self, path: RelPathBuf, kind: FoundKind) {
        let (entry, identity, links) = match kind {
            FoundKind::Dir { identity } => (Entry::Dir, identity, 1),
            FoundKind::File {
                identity,
                links,
                digest: Some(digest),
            } => (file(identity, digest), identity, links),
            FoundKind::Symlink { identity, target } => match LinkTarget::from_bytes(&target) {
                Ok(target) => (Entry::Symlink { target }, identity, 1),
                Err(_) => return self.stays(&path, FoundKind::Symlink { identity, target }),
            },
            other => return self.stays(&path, other),
        };
        let origin = Origin::Found { links };
        let known = KnownEntry {
            entry,
            identity,
            origin,
        };
        self.known.insert(path, known);
    }

    fn stays(&mut self, path: &RelPath, kind: FoundKind) {
        self.known.remove(path);
        self.unsupported
            .insert(path.as_str().as_bytes().to_vec(), kind);
    }

    /// Finds something at a good path whose parent is no directory, where that is so of nothing
    /// but what lies at `paths`, or below them.
    fn orphan_at<'p>(&self, paths: impl Iterator<Item = &'p RelPath>) -> Option<RelPathBuf> {
        let is_dir = |path: &RelPath| self.get(path) == Some(&Entry::Dir);
        for path in paths {
            if self.get(path).is_some() && !path.parent().is_none_or(is_dir) {
                return Some(path.to_owned());
            }
            if is_dir(path) {
                continue;
            }
            if let Some((below, _)) = self.below(path).next() {
                return Some(below.to_owned());
            }
            let mut unsupported = self.unsupported_below(path);
            let other = unsupported.find_map(|(name, _)| RelPath::from_bytes(name).ok());
            if let Some(below) = other {
                return Some(below.to_owned());
            }
        }
        None
    }

    /// Finds something at a good path whose parent is no directory.
    pub(super) fn orphan(&self) -> Option<RelPathBuf> {
        // In path order what is below a directory follows it: these are the open ones.
        let mut open: Vec<&RelPath> = Vec::new();
        for (path, entry) in self.iter() {
            while open.last().is_some_and(|dir| !path.starts_with(dir)) {
                open.pop();
            }
            if path.parent() != open.last().copied() {
                return Some(path.to_owned());
            }
            if *entry == Entry::Dir {
                open.push(path);
            }
        }
        let unsupported = self.unsupported.keys();
        let mut unsupported = unsupported.filter_map(|name| RelPath::from_bytes(name).ok());
        let is_orphan = |path: &&RelPath| {
            let parent = path.parent();
            parent.is_some_and(|parent| self.get(parent) != Some(&Entry::Dir))
        };
        unsupported.find(is_orphan).map(ToOwned::to_owned)
    }
}

/// Finds a name that was found twice.
fn twice(found: &[FoundEntry]) -> Option<&[u8]> {
    let mut names: Vec<&[u8]> = found.iter().map(|found| &*found.name).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1])?;
    Some(twice[0])
}

/// A file system can hold the name, though lazaret does not carry it.
fn possible(name: &[u8], error: RelPathError) -> Result<(), SurveyError> {
    match error {
        RelPathError::Empty
        | RelPathError::Absolute
        | RelPathError::DotDot
        | RelPathError::Noncanonical
        | RelPathError::Nul => Err(SurveyError::Name {
            name: name.to_vec(),
        }),
        RelPathError::Control
        | RelPathError::Encoding
        | RelPathError::ComponentTooLong
        | RelPathError::TooLong
        | RelPathError::TooDeep => Ok(()),
    }
}
