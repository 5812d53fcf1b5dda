//! `Case`: a collected session before the gate. [`super::propose`] puts it together and judges it.

use std::path::PathBuf;
use std::sync::Arc;

use lazaret_transfer::Skipped;
use lazaret_tree::{Adjustment, Change, RejectedEntry, RelPath, Tree};
use lazaret_validator::{Limits, Policy};

use super::contents::Contents;
use super::drift::Drift;
use super::ignored::Ignored;
use super::proposal::Proposal;
use super::subject::Subject;
use super::unlanded::Unlanded;

/// Everything the gate knows of one batch.
#[derive(Debug)]
pub struct Case {
    /// See [`Case::changes`]; whatever is proposed shares them.
    pub(super) changes: Vec<Arc<Change>>,
    /// Caches that appeared in the copy and stay there, and what git ignores.
    pub caches: Vec<Skipped>,
    /// What of that git ignores.
    pub ignored: Ignored,
    /// All contents, by digest.
    pub contents: Contents,
    /// The session that it came out of; `None` for two trees that were only compared.
    pub subject: Option<Subject>,
    /// The session's directory, where all of it may be listed; `None` if it is no session's.
    pub session_dir: Option<PathBuf>,
    /// What was sent in.
    pub(super) baseline: Tree,
    /// What came out and is not carried.
    pub(super) refusals: Vec<RejectedEntry>,
    /// What was made safe on the way.
    pub(super) notes: Vec<Adjustment>,
    /// What changed in `.git`, which is judged and never applied.
    pub(super) git: Vec<Arc<Change>>,
    /// What it is judged by.
    pub(super) policy: Policy,
    /// How the workspace is at the path of each change, in the same order.
    pub(super) drifts: Vec<Drift>,
    /// The proposal to take everything, once it is made.
    pub(super) whole: Option<Proposal>,
}

impl Case {
    /// Whether anything is in conflict with the workspace.
    pub fn is_in_conflict(&self) -> bool {
        self.drifts.iter().any(is_clash)
    }

    /// Notes what an earlier apply of the batch did, where the workspace is in conflict now,
    /// and returns at how many places that is. [`Case::refresh`] merges with it.
    pub fn note_applied(&mut self, applied: impl IntoIterator<Item = Arc<Change>>) -> usize {
        let mut noted = 0;
        for applied in applied {
            let place = self
                .changes
                .binary_search_by(|change| change.path.cmp(&applied.path));
            if place.is_ok_and(|place| self.drifts.get(place).is_some_and(is_clash)) {
                self.contents.note_applied(applied);
                noted += 1;
            }
        }
        noted
    }

    /// The proposal to take everything.
    pub fn whole(&self) -> Option<&Proposal> {
        self.whole.as_ref()
    }

    /// Reads both sides of a change as text; nothing counts as the empty text. `None` for what
    /// is no text on both sides. The hunks between them are those that
    /// [`Pick::Hunks`](super::choices::Pick::Hunks) names.
    pub fn texts(&self, change: &Change) -> Option<(String, String)> {
        let side = |entry: &Option<_>| match entry {
            None => Some(String::new()),
            Some(entry) => self.contents.text(entry),
        };
        Some((side(&change.before)?, side(&change.after)?))
    }

    /// Iterates over what the session changed, in path order, `.git` left out.
    pub fn changes(&self) -> impl ExactSizeIterator<Item = &Change> + Clone {
        self.changes.iter().map(|change| &**change)
    }

    /// As [`Case::changes`], for callers that keep them.
    pub fn shared_changes(&self) -> &[Arc<Change>] {
        &self.changes
    }

    /// Returns what was committed inside, which no apply brings out; `None` where there is none.
    pub fn commits(&self) -> Option<&Unlanded> {
        let commits = &self.subject.as_ref()?.commits;
        (!commits.is_empty()).then_some(commits)
    }

    /// Returns the limits that the case is judged by.
    pub fn limits(&self) -> &Limits {
        &self.policy.limits
    }

    /// Looks up what the session did at one path.
    pub fn change(&self, path: &RelPath) -> Option<&Change> {
        let found = self
            .changes
            .binary_search_by(|change| (*change.path).cmp(path));
        Some(self.changes.get(found.ok()?)?)
    }
}

fn is_clash(drift: &Drift) -> bool {
    matches!(drift, Drift::Conflict(_))
}
