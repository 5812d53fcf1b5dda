//! `Subject`: the session that a batch came out of, as far as the gate and its reports tell of it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::unlanded::Unlanded;

/// The session that a batch came out of. Nothing in it is escaped yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The session's name.
    pub name: String,
    /// The workspace, as an absolute path.
    pub workspace: PathBuf,
    /// The profile's name.
    pub profile: String,
    /// The command, program first.
    pub command: Vec<String>,
    /// How the engine was reached.
    pub engine: String,
    /// The image, pinned by id.
    pub image: String,
    /// Seconds since 1970 when the session was created.
    pub created: u64,
    /// How the command ended, once it has.
    pub end: Option<CommandEnd>,
    /// How the gate ended, once it has.
    pub outcome: Option<Outcome>,
    /// What was committed inside and is not in the workspace's repository.
    pub commits: Unlanded,
}

/// How the gate ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The approved changes are in the workspace.
    Applied,
    /// There was nothing to apply.
    Nothing,
    /// The changes wait for a review.
    Kept,
    /// The batch was rejected.
    Rejected,
    /// The user threw the changes away.
    Discarded,
    /// The changes were applied, and taken back by `undo`.
    Undone,
    /// Commits that hold all of the changes were landed.
    Landed,
}

impl Outcome {
    /// Returns the word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Nothing => "nothing to apply",
            Self::Kept => "kept",
            Self::Rejected => "rejected",
            Self::Discarded => "discarded",
            Self::Undone => "undone",
            Self::Landed => "landed",
        }
    }
}

/// How the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandEnd {
    /// Its exit code; 128 + n for a signal.
    pub exit_code: i32,
    /// Whether its time was up.
    pub timed_out: bool,
    /// Whether the kernel's OOM killer hit it.
    pub oom_killed: bool,
    /// Whether the user interrupted it.
    pub interrupted: bool,
    /// Whether its output went beyond what the log keeps.
    pub log_truncated: bool,
    /// Wall time in milliseconds, on the monotonic clock.
    pub duration_ms: u64,
}
