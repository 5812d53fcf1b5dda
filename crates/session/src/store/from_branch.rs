//! `FromBranch`: the branch, tag or commit that a session is a clone of.

use std::fmt;

use lazaret_tree::escape;
use serde::{Deserialize, Serialize};

/// How many digits of a commit are shown.
const SHORT: usize = 12;

/// Where a session started that does not copy the workspace's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FromBranch {
    /// The name that each run resolves again: a branch without `refs/heads/`, another ref in
    /// full, or the id of a commit.
    pub branch: String,
    /// The id of the commit that it named when the last command started.
    pub commit: String,
}

impl fmt::Display for FromBranch {
    /// Writes the name escaped, with the start of the commit's id.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = self.commit.get(..SHORT).unwrap_or(&self.commit);
        match self.branch == self.commit {
            true => write!(f, "commit {short}"),
            false => write!(f, "{} at {short}", escape(self.branch.as_bytes())),
        }
    }
}
