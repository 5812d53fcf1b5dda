//! `HistorySource`: by what the user's history goes into a copy that keeps its own repository.

use lazaret_commits::git::Git;

/// By what the user's history is read.
#[derive(Debug)]
pub struct HistorySource {
    /// The user's git.
    pub git: Git,
    /// Which refs are the user's branches.
    pub branches: BranchRefs,
}

/// Where the user's branches are in the repository of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchRefs {
    /// In the workspace's own repository: `refs/heads/`.
    Heads,
    /// In a clean clone of one branch: `refs/remotes/host/`.
    Clone,
}
