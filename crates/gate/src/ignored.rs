//! `Ignored`: new files that git ignores, which stay in the copy as caches do.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use lazaret_transfer::{SkipReason, Skipped, WorkspaceDir};
use lazaret_tree::{Change, Entry, RelPath, RelPathBuf, Renames, Tree, escape};
use lazaret_validator::{GitIgnores, Policy};
use rustix::fs::AtFlags;
use serde::{Deserialize, Serialize};

use super::contents::Contents;

/// How many places are named.
const MOST_NAMED: usize = 3;

/// What becomes of new files that git ignores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IgnoredFiles {
    /// They stay in the copy.
    #[default]
    Stay,
    /// They are offered like any other.
    Offered,
}

impl IgnoredFiles {
    /// Returns the word of a profile.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stay => "stay",
            Self::Offered => "offered",
        }
    }
}

/// What git ignores, and so stays in the copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ignored {
    /// In path order.
    pub places: Vec<IgnoredPlace>,
}

/// A new file that git ignores, or a directory with all that is new in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredPlace {
    /// Where.
    pub path: RelPathBuf,
    /// How many files and links it is; at least 1.
    pub files: u64,
    /// Whether it is a directory.
    pub is_dir: bool,
}

impl Ignored {
    /// Whether a path is one of these or lies below one.
    pub fn holds(&self, path: &RelPath) -> bool {
        self.places
            .iter()
            .any(|place| path.starts_with(&place.path))
    }

    /// The same as what a walk leaves out.
    pub(super) fn skipped(&self) -> impl Iterator<Item = Skipped> {
        self.places.iter().map(|place| Skipped {
            name: place.path.as_str().as_bytes().to_vec(),
            reason: SkipReason::GitIgnore,
            bytes: None,
        })
    }
}

/// Such as `12 files that git ignores stay in the copy: dist/ (11), npm-debug.log`.
impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.places.iter().map(|place| place.files).sum() {
            1_u64 => f.write_str("1 file that git ignores stays in the copy: ")?,
            files => write!(f, "{files} files that git ignores stay in the copy: ")?,
        }
        for (index, place) in self.places.iter().take(MOST_NAMED).enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            let path = escape(place.path.as_str().as_bytes());
            match place.is_dir {
                true => write!(f, "{comma}{path}/ ({})", place.files)?,
                false => write!(f, "{comma}{path}")?,
            }
        }
        match self.places.len().saturating_sub(MOST_NAMED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// What decides whether git ignores a path.
pub(super) struct IgnoreContext<'a> {
    pub(super) baseline: &'a Tree,
    pub(super) contents: &'a Contents,
    pub(super) policy: &'a Policy,
}

impl IgnoreContext<'_> {
    /// Takes out of `changes` what is new and what git ignores, by the rules that held before the
    /// batch. What git tracks is not ignored, nor is what was sent in, nor the new place of what
    /// the batch takes away elsewhere: left behind, that would be lost.
    pub(super) fn set_aside(&self, changes: Vec<Arc<Change>>) -> (Vec<Arc<Change>>, Ignored) {
        let mut places = self.places(&changes);
        if places.iter().all(Option::is_none) {
            return (changes, Ignored::default());
        }
        let made: Vec<&Change> = changes.iter().map(|change| &**change).collect();
        for pair in Renames::of(&made).pairs() {
            if let Some(place) = places.get_mut(pair.to) {
                *place = None;
            }
        }
        let mut found: BTreeMap<RelPathBuf, IgnoredPlace> = BTreeMap::new();
        for (change, place) in changes.iter().zip(&places) {
            let (Some(place), false) = (place, is_dir(change)) else {
                continue;
            };
            let one = found.entry(place.clone()).or_insert_with(|| IgnoredPlace {
                path: place.clone(),
                files: 0,
                is_dir: change.path != *place,
            });
            one.files += 1;
        }
        let stays = staying(&changes, &places, |place| found.contains_key(place));
        let kept = changes.into_iter().zip(stays);
        let kept = kept.filter_map(|(change, stays)| (!stays).then_some(change));
        let ignored = Ignored {
            places: found.into_values().collect(),
        };
        (kept.collect(), ignored)
    }

    /// What git ignores of each change.
    fn places(&self, changes: &[Arc<Change>]) -> Vec<Option<RelPathBuf>> {
        let mut ignores = GitIgnores::new(self.baseline, &self.policy.git, self.contents);
        let mut place = |change: &Change| {
            let entry = change.after.as_ref().filter(|_| change.before.is_none())?;
            let place = ignores.place(&change.path, entry)?;
            let is_tracked = !is_dir(change) && self.is_tracked(&change.path);
            (!is_tracked && !self.is_nested(&change.path)).then_some(place)
        };
        changes.iter().map(|change| place(change)).collect()
    }

    /// Whether git tracks a path. Without an index that can be read, what the workspace has there
    /// may be tracked.
    fn is_tracked(&self, path: &RelPath) -> bool {
        match &self.policy.index {
            Some(index) => index.blob(path).is_some(),
            None => self.has(path),
        }
    }

    /// Whether a path lies in a repository of its own within the workspace, whose rules are others.
    fn is_nested(&self, path: &RelPath) -> bool {
        let mut dirs = path.ancestors().filter_map(|dir| dir.join(".git").ok());
        dirs.any(|git| self.has(&git))
    }

    /// Whether the workspace has anything at a path; nothing is opened.
    fn has(&self, path: &RelPath) -> bool {
        let workspace: &WorkspaceDir = self.contents.workspace();
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        rustix::fs::statat(workspace.fd(), path.as_str(), flags).is_ok()
    }
}

/// Says of each change whether it stays: files that git ignores, the directories of a place that
/// `has_files`, and new directories that were only made for such files. A directory in which
/// something is offered goes with that.
fn staying(
    changes: &[Arc<Change>],
    places: &[Option<RelPathBuf>],
    has_files: impl Fn(&RelPathBuf) -> bool,
) -> Vec<bool> {
    let mut stays = Vec::with_capacity(changes.len());
    // What lies below a directory follows it, so the next of each kind tells whether there is any.
    let (mut offered, mut staying): (Option<&RelPath>, Option<&RelPath>) = (None, None);
    for (change, place) in changes.iter().zip(places).rev() {
        let path: &RelPath = &change.path;
        let below = |other: Option<&RelPath>| other.is_some_and(|other| other.starts_with(path));
        let is_of_a_place = place.as_ref().is_some_and(&has_files);
        let is_staying = match is_dir(change) {
            true => {
                let was_made_for_it = is_of_a_place || below(staying);
                change.before.is_none() && was_made_for_it && !below(offered)
            }
            false => place.is_some(),
        };
        match is_staying {
            true => staying = Some(path),
            false => offered = Some(path),
        }
        stays.push(is_staying);
    }
    stays.reverse();
    stays
}

fn is_dir(change: &Change) -> bool {
    matches!(change.after, Some(Entry::Dir))
}
