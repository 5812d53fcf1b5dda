//! `examine`: judges every commit against its first parent, and every tip against its base.
//!
//! A branch may be checked out at any of its commits, so a bad one in the middle refuses the
//! branch though its tip is clean (GIT-17). A tip that is refused leaves the others alone.

use std::collections::HashMap;
use std::sync::Arc;

use lazaret_transfer::ObjectId;
use lazaret_tree::{ChangeSet, RelPathBuf, Severity};
use lazaret_validator::{
    Finding, Findings, JudgeInput, Outcome, Policy, Verdict, is_allowable, judge,
};

use crate::commit::Commit;
use crate::git::{GitError, IsCancelled};
use crate::history::{History, NewCommits};
use crate::quarantine::Quarantine;
use crate::refusal::Refusal;
use crate::snapshot::Snapshot;

/// What tips are judged by.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The rules of the gate.
    pub policy: Policy,
    /// Paths that the user allows although a rule blocks them.
    pub allow: Vec<RelPathBuf>,
}

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
        snapshot: Snapshot::empty(quarantine, quarantine.reader()?),
        found: Examination::default(),
        is_cancelled,
    };
    for tip in tips {
        let examined = examiner.tip(*tip);
        if is_cancelled() {
            return Err(GitError::Cancelled);
        }
        if let Err(refusal) = &examined
            && matches!(**refusal, Refusal::Object(_))
        {
            // Git may have ended over a damaged object.
            examiner.snapshot = Snapshot::empty(quarantine, quarantine.reader()?);
        }
        examiner.found.tips.push(examined);
    }
    Ok(examiner.found)
}

struct Examiner<'a> {
    quarantine: &'a Quarantine,
    rules: &'a Rules,
    history: History,
    snapshot: Snapshot<'a>,
    found: Examination,
    is_cancelled: IsCancelled<'a>,
}

impl Examiner<'_> {
    fn tip(&mut self, tip: ObjectId) -> Result<ExaminedTip, Arc<Refusal>> {
        let reader = self.snapshot.reader();
        let new = self.history.follow(tip, self.quarantine, reader)?;
        let NewCommits {
            commit,
            oldest_first,
            base,
        } = new;
        for id in &oldest_first {
            if (self.is_cancelled)() {
                return Err(Arc::new(GitError::Cancelled.into()));
            }
            self.commit(*id)?;
        }
        let before = self.tree_of(base)?;
        let after = self.tree_of(Some(commit))?;
        let (changes, findings) = self.judge(commit, before, after)?;
        Ok(ExaminedTip {
            commit,
            base,
            commits: oldest_first,
            changes,
            findings,
        })
    }

    /// Judges a commit against its first parent, once.
    fn commit(&mut self, id: ObjectId) -> Result<(), Arc<Refusal>> {
        if let Some(known) = self.found.commits.get(&id) {
            return known.as_ref().map(drop).map_err(Arc::clone);
        }
        let examined = self.examine_commit(id);
        let outcome = examined.as_ref().map(drop).map_err(Arc::clone);
        self.found.commits.insert(id, examined);
        outcome
    }

    fn examine_commit(&mut self, id: ObjectId) -> Result<ExaminedCommit, Arc<Refusal>> {
        let commit = self.history.commit(&id).ok_or(Refusal::NoCommit)?.clone();
        let before = self.tree_of(commit.parents.first().copied())?;
        let (changes, findings) = self.judge(id, before, Some(commit.tree))?;
        Ok(ExaminedCommit {
            commit,
            changes,
            findings,
        })
    }

    fn tree_of(&mut self, commit: Option<ObjectId>) -> Result<Option<ObjectId>, Arc<Refusal>> {
        let Some(id) = commit else {
            return Ok(None);
        };
        Ok(Some(self.history.tree(id, self.snapshot.reader())?))
    }

    fn judge(
        &mut self,
        commit: ObjectId,
        before: Option<ObjectId>,
        after: Option<ObjectId>,
    ) -> Result<(ChangeSet, Findings), Arc<Refusal>> {
        self.snapshot.move_to(before)?;
        let changes = self.snapshot.compare(commit, after)?;
        let input = JudgeInput {
            baseline: self.snapshot.tree(),
            changes: changes.clone(),
            refusals: &[],
            notes: &[],
            contents: &self.snapshot,
        };
        let Verdict {
            findings, outcome, ..
        } = judge(input, &self.rules.policy);
        self.snapshot.advance(after, &changes);
        if outcome == Outcome::Rejected {
            let gravest = findings.first().map(ToString::to_string);
            return Err(Arc::new(Refusal::Rejected {
                commit,
                reason: gravest.unwrap_or_default(),
            }));
        }
        Ok((changes, self.rules.mark_allowed(findings)))
    }
}

impl Rules {
    /// Marks what the user allows by its path.
    fn mark_allowed(&self, mut findings: Findings) -> Findings {
        for finding in &mut findings {
            let path = finding.subject.path();
            let is_named = path.is_some_and(|path| self.allow.iter().any(|allow| **allow == *path));
            if is_named && finding.severity == Severity::Block && is_allowable(finding.code) {
                Arc::make_mut(finding).allowed = true;
            }
        }
        findings
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
