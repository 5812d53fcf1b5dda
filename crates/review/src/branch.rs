//! `Branch`: commits that can be landed, as the review knows them.
//!
//! Plain data. Every text in it is escaped already, or ours.

use lazaret_validator::Severity;

use super::item::{ItemFindings, Mark};

/// The commits that wait beside the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commits {
    /// What can be landed, and what is refused.
    pub branches: Vec<Branch>,
    /// What is to be said of all of it: what stays in the copy, or why nothing can be shown.
    pub facts: Vec<String>,
}

/// A branch, a tag or a stash entry, which is landed as a whole or stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// What it is called inside: `branch fix`, `stash stash-0`.
    pub name: String,
    /// What it is called once it is landed.
    pub lands_as: String,
    /// What is to be said of it.
    pub facts: Vec<String>,
    /// What the rules say of its files against the user's commit that it starts from.
    pub findings: ItemFindings,
    /// What may become of it.
    pub status: BranchStatus,
    /// What the user chose.
    pub choice: BranchChoice,
    /// Its new commits, the newest first.
    pub commits: Vec<Commit>,
}

/// What may become of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchStatus {
    /// The user may have it landed or leave it.
    Free,
    /// It stays, whatever is chosen here; why.
    Stays(String),
}

/// What the user chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchChoice {
    /// It is landed.
    Land,
    /// It stays in the copy.
    Leave,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The first line of its message.
    pub subject: String,
    /// Its id, who made it and when.
    pub facts: Vec<String>,
    /// What the rules say of it against its first parent.
    pub findings: ItemFindings,
}

/// Where a commit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitAt {
    /// The branch's place in the list.
    pub branch: usize,
    /// The commit's place in the branch.
    pub commit: usize,
}

impl Commits {
    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.branches.is_empty() && self.facts.is_empty()
    }

    /// Iterates over the places of what is landed.
    pub fn picked(&self) -> impl Iterator<Item = usize> {
        let branches = self.branches.iter().enumerate();
        let picked = branches.filter(|(_, branch)| branch.mark() == Mark::Taken);
        picked.map(|(place, _)| place)
    }

    /// Returns a commit.
    pub(super) fn at(&self, at: CommitAt) -> Option<&Commit> {
        self.branches.get(at.branch)?.commits.get(at.commit)
    }
}

impl Branch {
    /// Whether the user may choose.
    pub fn is_free(&self) -> bool {
        self.status == BranchStatus::Free
    }

    /// Returns what will become of it.
    pub fn mark(&self) -> Mark {
        match (&self.status, self.choice) {
            (BranchStatus::Stays(_), _) => Mark::Stays,
            (BranchStatus::Free, BranchChoice::Land) => Mark::Taken,
            (BranchStatus::Free, BranchChoice::Leave) => Mark::Left,
        }
    }

    /// Returns how grave the gravest finding is, of its commits too.
    pub fn severity(&self) -> Option<Severity> {
        let commits = self.commits.iter().map(|commit| &commit.findings);
        let all = std::iter::once(&self.findings).chain(commits);
        all.filter_map(ItemFindings::severity).max()
    }
}
