//! `Draft`: what was chosen in a review that was left, for the next one of the same changes.
//!
//! It holds only what is left out, so a draft never applies more than a review without one.
//! What was allowed by a typed word has to be typed again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lazaret_gate::atomic_file::write_atomically;
use lazaret_gate::case::Case;
use lazaret_gate::choices::{Choices, Pick};
use lazaret_gate::file_diff::FileDiff;
use lazaret_tree::{AtPath as _, ChangeSet, RelPath, RelPathBuf};
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, FailureKind, OrFail as _};

/// The file's name in the session's directory.
const NAME: &str = "review-draft.json";

/// The most bytes of a draft that is read: 200,000 long paths.
const MOST_BYTES: u64 = 64 << 20;

/// The draft of a session's review.
#[derive(Debug)]
pub(super) struct Draft {
    path: PathBuf,
    changes: String,
}

/// What became of a draft.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Restored {
    /// There was none.
    Nothing,
    /// It was of other changes, or can't be read, and is gone.
    Dropped,
    /// So many changes are left out, and so many are taken in part.
    Choices {
        /// Changes that are left out.
        left: usize,
        /// Changes that are taken in part.
        in_part: usize,
    },
}

/// The file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    /// Which changes it is of: the digest of all paths and contents.
    changes: String,
    /// Paths that are left out.
    left: BTreeSet<String>,
    /// The hunks that are taken, by path.
    hunks: BTreeMap<String, BTreeSet<usize>>,
}

impl Draft {
    /// Returns the place of a case's draft; `None` for a case that is no stored session's.
    pub(super) fn of(case: &Case) -> Option<Self> {
        let path = case.session_dir.as_ref()?.join(NAME);
        let changes = ChangeSet::new(case.shared_changes().to_vec());
        Some(Self {
            path,
            changes: changes.digest().to_hex(),
        })
    }

    /// Adds to `choices` what was chosen, if the changes are still the same; if they are not,
    /// the draft is removed.
    ///
    /// # Errors
    /// The disk's.
    pub(super) fn restore(&self, case: &Case, choices: &mut Choices) -> Result<Restored, Failure> {
        let Some(bytes) = read(&self.path)? else {
            return Ok(Restored::Nothing);
        };
        let stored = serde_json::from_slice(&bytes).ok();
        let of_these = |stored: &Stored| stored.changes == self.changes;
        let Some(stored) = stored.filter(of_these) else {
            self.remove()?;
            return Ok(Restored::Dropped);
        };
        let (mut left, mut in_part) = (0, 0);
        for path in &stored.left {
            if let Some(path) = changed(case, path) {
                choices.pick(&path, Pick::Leave);
                left += 1;
            }
        }
        for (path, hunks) in stored.hunks {
            // Without its old contents it has no hunks any more, and is left.
            let Some(path) = changed(case, &path) else {
                continue;
            };
            match has_hunks(case, &path, &hunks) {
                true => {
                    choices.pick(&path, Pick::Hunks(hunks));
                    in_part += 1;
                }
                false => {
                    choices.pick(&path, Pick::Leave);
                    left += 1;
                }
            }
        }
        Ok(Restored::Choices { left, in_part })
    }

    /// Writes what is left out; removes the draft if that is nothing.
    ///
    /// # Errors
    /// The disk's.
    pub(super) fn save(&self, case: &Case, choices: &Choices) -> Result<(), Failure> {
        let mut stored = Stored {
            changes: self.changes.clone(),
            left: BTreeSet::new(),
            hunks: BTreeMap::new(),
        };
        for change in case.changes() {
            let path = change.path.as_str().to_owned();
            match choices.of(&change.path) {
                Pick::Leave => drop(stored.left.insert(path)),
                Pick::Hunks(hunks) => drop(stored.hunks.insert(path, hunks.clone())),
                Pick::Take | Pick::Alone | Pick::SessionVersion => {}
            }
        }
        if stored.left.is_empty() && stored.hunks.is_empty() {
            return self.remove();
        }
        let bytes = serde_json::to_vec(&stored).or_fail(FailureKind::Internal, "no JSON")?;
        Ok(write_atomically(&self.path, &bytes)?)
    }

    /// Removes the draft.
    ///
    /// # Errors
    /// The disk's.
    pub(super) fn remove(&self) -> Result<(), Failure> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).at(&self.path).map_err(Failure::from)
            }
            _ => Ok(()),
        }
    }
}

/// Returns a path if the session changed something there.
fn changed(case: &Case, path: &str) -> Option<RelPathBuf> {
    let path: RelPathBuf = path.parse().ok()?;
    case.change(&path).is_some().then_some(path)
}

/// Whether a change has these hunks, and others.
fn has_hunks(case: &Case, path: &RelPath, hunks: &BTreeSet<usize>) -> bool {
    let texts = case.change(path).and_then(|change| case.texts(change));
    let count = texts.map_or(0, |(old, new)| FileDiff::new(&old, &new).hunks().len());
    hunks.len() < count && hunks.last().is_some_and(|last| *last < count)
}

/// Reads the file; more than a draft can have counts as damaged.
fn read(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.len() > MOST_BYTES => Ok(Some(Vec::new())),
        Ok(_) => Ok(Some(fs::read(path).at(path)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).at(path).map_err(Failure::from),
    }
}

impl Restored {
    /// What the status line says; `None` if nothing.
    pub(super) fn words(&self) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Dropped => Some("Choices dropped: other changes now.".to_owned()),
            Self::Choices { left, in_part } => {
                Some(format!("Choices restored: {left} out, {in_part} in part."))
            }
        }
    }
}
