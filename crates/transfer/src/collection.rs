//! `Collection`: what came out of a session, before its contents are fetched.

use std::collections::BTreeSet;

use crate::wire::{Found, FoundKind, Survey, SurveyError};
use crate::{
    Entry, LinkTarget, LinkTargetError, Mode, Note, Refusal, RelPath, RelPathBuf, RelPathError,
    SkipReason, Skipped, Tree, Wanted, escape,
};

/// What the volume holds now, as far as lazaret carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    /// The baseline with the survey's differences applied. What stays behind, and
    /// everything below it, is as it was in the baseline: what cannot be carried
    /// is neither a change nor a deletion.
    pub tree: Tree,
    /// What lies in the volume and is not carried.
    pub refusals: Vec<Refusal>,
    /// Cache directories that appeared: as on the way in, they stay where they are.
    pub left_out: Vec<Skipped>,
    /// What was made safe: `mode.special`, `link.hard`.
    pub notes: Vec<Note>,
}

/// A blob that did not arrive as it was announced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: what was sent is not what was surveyed", escape(.path.as_str().as_bytes()))]
pub struct NotAsSurveyed {
    /// Where.
    pub path: RelPathBuf,
}

impl Survey {
    /// Applies the differences to the tree that was sent in.
    ///
    /// # Errors
    /// When the survey has names that no file system can hold, or contradicts
    /// itself or the baseline: then nothing of it can be believed.
    pub fn collect(self, baseline: &Tree) -> Result<Collection, SurveyError> {
        let mut collection = Collection {
            tree: baseline.clone(),
            refusals: Vec::new(),
            left_out: Vec::new(),
            notes: Vec::new(),
        };
        let mut stays: BTreeSet<RelPathBuf> = BTreeSet::new();
        let mut gone: BTreeSet<RelPathBuf> = BTreeSet::new();
        for name in self.gone {
            let Ok(path) = RelPath::from_bytes(&name) else {
                return Err(SurveyError::Name { name });
            };
            let known = collection.tree.remove(path).is_some();
            if !known || !gone.insert(path.to_owned()) {
                return Err(SurveyError::Contradiction { name });
            }
        }
        let mut seen = BTreeSet::new();
        for found in self.found {
            if !seen.insert(found.name.clone()) {
                return Err(SurveyError::Contradiction { name: found.name });
            }
            let path = match RelPath::from_bytes(&found.name) {
                Ok(path) => path.to_owned(),
                Err(error) => {
                    let refusal = refuse_name(&found, error)?;
                    collection.refusals.push(refusal);
                    continue;
                }
            };
            if gone.contains(&path) {
                return Err(SurveyError::Contradiction { name: found.name });
            }
            match collection.take(found)? {
                Some(entry) => drop(collection.tree.insert(path, entry)),
                None => drop(stays.insert(path)),
            }
        }
        restore(&mut collection.tree, baseline, &stays);
        match orphan(&collection.tree) {
            Some(path) => Err(SurveyError::Contradiction {
                name: path.as_str().as_bytes().to_vec(),
            }),
            None => Ok(collection),
        }
    }
}

impl Collection {
    /// Lists the files that have to be fetched: changed against `baseline`, be it
    /// their mode alone, not below `.git`, and each content once.
    ///
    /// The bytes of a file that only became executable are fetched, too: what is
    /// applied comes from the session, never from a workspace that can change.
    pub fn wanted(&self, baseline: &Tree) -> Vec<Wanted> {
        let mut digests = BTreeSet::new();
        let mut wanted = Vec::new();
        for (path, entry) in self.tree.iter() {
            let Entry::File { size, digest, .. } = entry else {
                continue;
            };
            let is_old = baseline.get(path) == Some(entry);
            if is_old || path.components().next() == Some(".git") || !digests.insert(*digest) {
                continue;
            }
            wanted.push(Wanted {
                path: path.to_owned(),
                size: *size,
                digest: *digest,
            });
        }
        wanted
    }

    /// Returns the entry that `found`, which has a good name, becomes; `None` when it
    /// stays behind and is listed as such.
    fn take(&mut self, found: Found) -> Result<Option<Entry>, SurveyError> {
        let Found { name, kind } = found;
        let refusal = match kind {
            FoundKind::Dir { mode } => {
                // Setgid and sticky directories are common; nothing of them is kept.
                self.note_special(&name, mode);
                return Ok(Some(Entry::Dir));
            }
            FoundKind::File {
                mode,
                links,
                size,
                digest,
            } => {
                self.note_special(&name, mode);
                if links > 1 {
                    self.notes.push(Note {
                        name,
                        code: "link.hard",
                        reason: format!("one of {links} names of a file; becomes a copy"),
                    });
                }
                let mode = Mode::from_unix(mode);
                return Ok(Some(Entry::File { mode, size, digest }));
            }
            FoundKind::Symlink { target } => match LinkTarget::from_bytes(&target) {
                Ok(target) => return Ok(Some(Entry::Symlink { target })),
                Err(error) => Refusal::new(name, link_code(error), error.to_string()),
            },
            FoundKind::Odd(odd) => Refusal::new(name, odd.code(), odd.describe()),
            FoundKind::Cache => {
                self.left_out.push(Skipped {
                    name,
                    reason: SkipReason::Cache,
                    bytes: None,
                });
                return Ok(None);
            }
            // The name is good.
            FoundKind::BadName => return Err(SurveyError::Contradiction { name }),
        };
        self.refusals.push(refusal);
        Ok(None)
    }

    fn note_special(&mut self, name: &[u8], mode: u32) {
        let special = mode & 0o7000;
        if special != 0 {
            self.notes.push(Note {
                name: name.to_vec(),
                code: "mode.special",
                reason: format!("the mode bits {special:04o} are dropped"),
            });
        }
    }
}

/// Compares what arrived with what was asked for.
///
/// # Errors
/// The first file that is missing, or has other bytes.
pub fn check_arrived(wanted: &[Wanted], arrived: &Tree) -> Result<(), NotAsSurveyed> {
    for Wanted { path, size, digest } in wanted {
        match arrived.get(path) {
            Some(Entry::File {
                size: arrived_size,
                digest: arrived_digest,
                ..
            }) if arrived_size == size && arrived_digest == digest => {}
            _ => return Err(NotAsSurveyed { path: path.clone() }),
        }
    }
    Ok(())
}

/// Puts paths that stay behind back as they were, with what lay below them.
fn restore(tree: &mut Tree, baseline: &Tree, stays: &BTreeSet<RelPathBuf>) {
    for path in stays {
        let below: Vec<_> = tree
            .below(path)
            .map(|(other, _)| other.to_owned())
            .collect();
        for other in below {
            tree.remove(&other);
        }
        for (other, entry) in baseline.below(path) {
            tree.insert(other.to_owned(), entry.clone());
        }
    }
}

/// Finds an entry whose parent is no directory.
fn orphan(tree: &Tree) -> Option<RelPathBuf> {
    let mut entries = tree.iter().map(|(path, _)| path);
    let orphan = entries.find(|path| {
        path.parent()
            .is_some_and(|parent| tree.get(parent) != Some(&Entry::Dir))
    });
    orphan.map(ToOwned::to_owned)
}

fn refuse_name(found: &Found, error: RelPathError) -> Result<Refusal, SurveyError> {
    let code = match error {
        RelPathError::Empty
        | RelPathError::Absolute
        | RelPathError::DotDot
        | RelPathError::Noncanonical
        | RelPathError::Nul => {
            let name = found.name.clone();
            return Err(SurveyError::Name { name });
        }
        RelPathError::Control => "name.control",
        RelPathError::Encoding => "name.encoding",
        RelPathError::ComponentTooLong | RelPathError::TooLong => "path.too_long",
        RelPathError::TooDeep => "path.too_deep",
    };
    Ok(Refusal::new(found.name.clone(), code, error.to_string()))
}

fn link_code(error: LinkTargetError) -> &'static str {
    match error {
        LinkTargetError::Empty => "link.empty",
        LinkTargetError::Nul => "link.nul",
        LinkTargetError::Encoding => "link.encoding",
        LinkTargetError::Control => "link.control",
        LinkTargetError::TooLong => "link.too_long",
    }
}
