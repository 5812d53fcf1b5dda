//! `SelectionRecord`: what of a workspace goes in, as a record stores it.

use serde::{Deserialize, Serialize};

use crate::store::from_branch::FromBranch;

/// What of a workspace goes in, by its profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelectionRecord {
    /// What of `.git`.
    pub git: GitSelection,
    /// Patterns, in the syntax of `.gitignore`, that stay out.
    pub exclude: Vec<String>,
    /// What of the project goes in with the folder that the command starts in; `None` where
    /// everything does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<Vec<String>>,
    /// What the session is a clone of; `None` if the workspace's own files go in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<FromBranch>,
}

/// What of `.git` goes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GitSelection {
    /// Nothing.
    None,
    /// The commit that is checked out.
    Shallow,
    /// The whole history.
    Full,
}
