//! `Refusal`: why a tip stays in its copy. The others of the same copy are not affected.

use lazaret_transfer::ObjectId;
use lazaret_tree::escape;

use crate::commit::CommitError;
use crate::limits::{MAX_CHANGES, MAX_COMMITS, MAX_OBJECTS};
use crate::objects::ObjectError;
use crate::tree_object::{NameError, TreeError};

/// Why what a tip names is not taken. Its words are safe to print.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// An object is missing, damaged, of another kind, or too large.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// Git can't go on.
    #[error(transparent)]
    Git(#[from] crate::git::GitError),
    /// A commit is malformed.
    #[error("commit {id} is malformed: {error}")]
    Commit {
        /// Which.
        id: ObjectId,
        /// The rule that it breaks.
        error: CommitError,
    },
    /// A tree is malformed.
    #[error("a tree of commit {commit} is malformed at {}: {error}", shown(.path))]
    Tree {
        /// The first commit that has it.
        commit: ObjectId,
        /// Where, raw; empty for the root.
        path: Vec<u8>,
        /// The rule that it breaks.
        error: TreeError,
    },
    /// A name stays out.
    #[error("commit {commit} has {}: {error}", shown(.path))]
    Name {
        /// The first commit that has it.
        commit: ObjectId,
        /// The path, raw.
        path: Vec<u8>,
        /// The rule that it breaks.
        error: NameError,
    },
    /// A path is too long or too deep.
    #[error("commit {commit} has {}: {error}", shown(.path))]
    Path {
        /// The first commit that has it.
        commit: ObjectId,
        /// The path, raw.
        path: Vec<u8>,
        /// The rule that it breaks.
        error: lazaret_tree::RelPathError,
    },
    /// A link has a target that no link may have.
    #[error("commit {commit} has the link {}: {error}", shown(.path))]
    Link {
        /// The first commit that has it.
        commit: ObjectId,
        /// The path, raw.
        path: Vec<u8>,
        /// The rule that it breaks.
        error: lazaret_tree::LinkTargetError,
    },
    /// A submodule was added or moved (GIT-21).
    #[error(
        "commit {commit} sets the submodule {} to {id}, which is a commit of another repository",
        shown(.path)
    )]
    Submodule {
        /// The first commit that does.
        commit: ObjectId,
        /// The path, raw.
        path: Vec<u8>,
        /// The submodule's commit.
        id: ObjectId,
    },
    /// There are too many commits.
    #[error("there are more than {MAX_COMMITS} new commits")]
    ManyCommits,
    /// One commit changes too much, or all of them together.
    #[error(
        "commit {commit} changes more than {MAX_OBJECTS} entries, or all commits more than \
         {MAX_CHANGES}"
    )]
    ManyChanges {
        /// Which.
        commit: ObjectId,
    },
    /// The tip names no commit.
    #[error("it names no commit")]
    NoCommit,
    /// The rules reject it as a whole.
    #[error("the rules reject commit {commit} as a whole: {reason}")]
    Rejected {
        /// Which.
        commit: ObjectId,
        /// The gravest finding, escaped.
        reason: String,
    },
}

impl Refusal {
    /// Returns a stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Object(ObjectError::Missing(_)) => "commit.missing_object",
            Self::Object(_) | Self::Git(_) => "commit.object",
            Self::Commit { .. } => "commit.malformed",
            Self::Tree { .. } => "commit.tree",
            Self::Name { .. } | Self::Path { .. } => "commit.name",
            Self::Link { .. } => "commit.link",
            Self::Submodule { .. } => "commit.submodule",
            Self::ManyCommits | Self::ManyChanges { .. } => "commit.too_many",
            Self::NoCommit => "commit.none",
            Self::Rejected { .. } => "commit.rejected",
        }
    }
}

fn shown(path: &[u8]) -> String {
    match path {
        [] => "its root".to_owned(),
        path => escape(path),
    }
}
