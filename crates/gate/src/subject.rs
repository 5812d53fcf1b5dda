//! `Subject`: the session that a batch came out of, as far as the gate and its reports tell of it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::format::elapsed;
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

/// `exit 0 after 12.3 s`, `exit 137 after 0.4 s, out of memory`.
impl fmt::Display for CommandEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took = elapsed(Duration::from_millis(self.duration_ms));
        write!(f, "exit {} after {took}", self.exit_code)?;
        for (is, word) in [
            (self.timed_out, ", timed out"),
            (self.oom_killed, ", out of memory"),
            (self.interrupted, ", interrupted"),
            (self.log_truncated, ", log truncated"),
        ] {
            if is {
                f.write_str(word)?;
            }
        }
        Ok(())
    }
}
