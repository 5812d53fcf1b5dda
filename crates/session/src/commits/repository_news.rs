//! `RepositoryNews`: what an update made of a copy's repository if both sides moved theirs.

use lazaret_transfer::RefsObstacle;

/// What became of a copy's repository in an update.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RepositoryNews {
    /// There is nothing to say.
    #[default]
    Nothing,
    /// It is the user's again: that has everything of it.
    Follows,
    /// It keeps its own history, and has the user's branches as well.
    Has {
        /// The names of the refs that were sent, below `refs/remotes/host/`: what is checked out
        /// first.
        sent: Vec<String>,
        /// Refs of that kind that the command has changed: they stay.
        stay: Vec<String>,
    },
    /// It keeps its own history, and the user's branches did not go in.
    HeldBack(HeldBack),
}

/// Why the user's branches did not go in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeldBack {
    /// There is no git.
    #[error("there is no git on this machine")]
    NoGit,
    /// The copy is shallow.
    #[error("the copy has one commit only (workspace.git = \"shallow\")")]
    OneCommit,
    /// The copy can't take them.
    #[error(transparent)]
    Refs(#[from] RefsObstacle),
    /// The pack is too large.
    #[error("the pack of them is larger than the copy may hold in one file")]
    TooLarge,
    /// They would lie in what the command can only read.
    #[error("the copy's repository is protected while the command runs")]
    Protected,
    /// The user's repository can't be read, or the pack not be made.
    #[error("{0}")]
    Failed(String),
}
