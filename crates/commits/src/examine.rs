//! `examine`: judges every commit against its first parent, and every tip against its base.
//!
//! A branch may be checked out at any of its commits, so a bad one in the middle refuses the
//! branch though its tip is clean (GIT-17). A tip that is refused leaves the others alone.

use std::collections::HashMap;
use std::sync::Arc;

use lazaret_transfer::ObjectId;
use lazaret_tree::{ChangeSet, Severity};
use lazaret_validator::{Finding, Findings, deleted_unseen};

use crate::commit::Commit;
use crate::git::{GitError, IsCancelled};
use crate::history::{History, NewCommits};
use crate::judges::{Comparison, Judged, Judges};
use crate::quarantine::Quarantine;
use crate::refusal::Refusal;

pub use crate::rules::Rules;

/// What was found of all tips.
#[derive(Debug, Default)]
pub struct Examination {
    /// In the order in which they were asked for.
    pub tips: Vec<Result<ExaminedTip, Arc<Refusal>>>,
    commits: HashMap<ObjectId, Result<ExaminedCommit, Arc<Refusal>>>,
}

/// A tip that may be landed, unless something blocks it.
#[derive(Debug)]
pub struct ExaminedTip {
    /// The commit that it names.
    pub commit: ObjectId,
    /// The user's commit that it goes on from; `None` for a history of its own.
    pub base: Option<ObjectId>,
    /// The new commits, oldest first.
    pub commits: Vec<ObjectId>,
    /// What the files of the tip changed since the base.
    pub changes: ChangeSet,
    /// What the rules say of these changes.
    pub findings: Findings,
}

/// A new commit.
#[derive(Debug)]
pub struct ExaminedCommit {
    /// What it says.
    pub commit: Commit,
    /// What its files changed since its first parent.
    pub changes: ChangeSet,
    /// What the rules say of these changes.
    pub findings: Findings,
}

/// Examines tips.
///
/// # Errors
/// When git can't be run, or an end is wanted. What is wrong with a tip is in its result.
pub fn examine(
    quarantine: &Quarantine,
    tips: &[ObjectId],
    rules: &Rules,
    is_cancelled: IsCancelled<'_>,
) -> Result<Examination, GitError> {
    let mut examiner = Examiner {
        quarantine,
        rules,
        history: History::default(),
        judges: Judges::start(quarantine, rules)?,
        found: Examination::default(),
        is_cancelled,
    };
    for tip in tips {
        let examined = examiner.tip(*tip);
        if is_cancelled() {
            return Err(GitError::Cancelled);
        }
        if let Err(refusal) = &examined {
            examiner.judges.restart_after(refusal)?;
        }
        examiner.found.tips.push(examined);
    }
    Ok(examiner.found)
}

struct Examiner<'a> {
    quarantine: &'a Quarantine,
    rules: &'a Rules,
    history: History,
    judges: Judges<'a>,
    found: Examination,
    is_cancelled: IsCancelled<'a>,
}

impl Examiner<'_> {
    fn tip(&mut self, tip: ObjectId) -> Result<ExaminedTip, Arc<Refusal>> {
        let reader = self.judges.reader();
        let new = self.history.follow(tip, self.quarantine, reader)?;
        let NewCommits {
            commit,
            oldest_first,
            base,
        } = new;
        let unknown = self.unknown(&oldest_first)?;
        let mut comparisons = Vec::new();
        for id in &unknown {
            comparisons.push(self.against_first_parent(*id)?);
        }
        comparisons.push(Comparison {
            commit,
            before: self.tree_of(base)?,
            after: self.tree_of(Some(commit))?,
        });
        let judged = self.judges.judge(&comparisons, self.is_cancelled);
        let mut judged = judged.into_iter();
        for (id, judged) in unknown.into_iter().zip(judged.by_ref()) {
            self.add(id, judged)?;
        }
        let Judged {
            changes,
            mut findings,
        } = judged.next().ok_or(Refusal::from(GitError::Cancelled))??;
        let copied = self.rules.copied.as_ref();
        findings.extend(copied.and_then(|copied| deleted_unseen(&changes, copied)));
        Finding::put_in_order(&mut findings);
        Ok(ExaminedTip {
            commit,
            base,
            commits: oldest_first,
            changes,
            findings,
        })
    }

    /// Returns which commits were not judged with another tip.
    fn unknown(&self, ids: &[ObjectId]) -> Result<Vec<ObjectId>, Arc<Refusal>> {
        let mut unknown = Vec::new();
        for id in ids {
            match self.found.commits.get(id) {
                None => unknown.push(*id),
                Some(Ok(_)) => {}
                Some(Err(refusal)) => return Err(Arc::clone(refusal)),
            }
        }
        Ok(unknown)
    }

    fn against_first_parent(&mut self, id: ObjectId) -> Result<Comparison, Refusal> {
        let commit = self.history.commit(&id).ok_or(Refusal::NoCommit)?;
        let (parent, after) = (commit.parents.first().copied(), Some(commit.tree));
        Ok(Comparison {
            commit: id,
            before: self.tree_of(parent)?,
            after,
        })
    }

    fn tree_of(&mut self, commit: Option<ObjectId>) -> Result<Option<ObjectId>, Refusal> {
        let Some(id) = commit else {
            return Ok(None);
        };
        Ok(Some(self.history.tree(id, self.judges.reader())?))
    }

    /// Notes what was found of a commit.
    fn add(&mut self, id: ObjectId, judged: Result<Judged, Refusal>) -> Result<(), Arc<Refusal>> {
        let commit = self.history.commit(&id).ok_or(Refusal::NoCommit)?.clone();
        let examined = judged.map(|Judged { changes, findings }| ExaminedCommit {
            commit,
            changes,
            findings,
        });
        let examined = examined.map_err(Arc::new);
        let outcome = examined.as_ref().map(drop).map_err(Arc::clone);
        self.found.commits.insert(id, examined);
        outcome
    }
}

impl Examination {
    /// Adds what was found of further tips, in another repository. A commit that is in both is the
    /// same, unless it is refused in one of them.
    pub fn append(&mut self, other: Self) {
        self.tips.extend(other.tips);
        for (id, examined) in other.commits {
            if !matches!(self.commits.get(&id), Some(Ok(_))) {
                self.commits.insert(id, examined);
            }
        }
    }

    /// Returns a commit of a tip that was not refused.
    pub fn commit(&self, id: &ObjectId) -> Option<&ExaminedCommit> {
        self.commits.get(id)?.as_ref().ok()
    }

    /// Iterates over what blocks a tip, with the commit that it was found in, which is the tip
    /// itself for what its files changed since the base.
    pub fn blocks<'a>(
        &'a self,
        tip: &'a ExaminedTip,
    ) -> impl Iterator<Item = (ObjectId, &'a Finding)> {
        let own = tip.findings.iter().map(|finding| (tip.commit, &**finding));
        let each = tip
            .commits
            .iter()
            .filter_map(|id| Some((id, self.commit(id)?)));
        let each = each.flat_map(|(id, commit)| {
            let findings = commit.findings.iter();
            findings.map(|finding| (*id, &**finding))
        });
        own.chain(each)
            .filter(|(_, finding)| finding.severity == Severity::Block && !finding.allowed)
    }
}
