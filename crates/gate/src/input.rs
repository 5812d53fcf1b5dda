//! `GateInput`: what a case is made of, and what it is judged by.

use std::path::PathBuf;

use lazaret_protocol::StreamLimits;
use lazaret_transfer::{BlobStore, MergeBases, Skipped, WorkspaceDir};
use lazaret_tree::{Adjustment, RejectedEntry, Tree};
use lazaret_validator::{Destination, GitConfig, Limits, Policy};
use serde::{Deserialize, Serialize};

use super::ignored::IgnoredFiles;
use super::subject::Subject;

/// What a case is made of.
#[derive(Debug)]
pub struct GateInput {
    /// What was sent in.
    pub baseline: Tree,
    /// What came out.
    pub collected: Tree,
    /// What came out and is not carried.
    pub refusals: Vec<RejectedEntry>,
    /// What was made safe on the way.
    pub notes: Vec<Adjustment>,
    /// Caches that appeared in the copy.
    pub caches: Vec<Skipped>,
    /// What becomes of new files that git ignores.
    pub ignored: IgnoredFiles,
    /// The new contents.
    pub quarantine: BlobStore,
    /// The texts that were sent in, where they were kept.
    pub base: Option<MergeBases>,
    /// The workspace.
    pub workspace: WorkspaceDir,
    /// What it is judged by.
    pub policy: Policy,
    /// The session that it came out of; `None` for two trees that were only compared.
    pub subject: Option<Subject>,
    /// The session's directory, where all of it may be listed; `None` if it is no session's.
    pub session_dir: Option<PathBuf>,
}

/// The limits that the gate holds a collection to, fixed when the session starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateLimits {
    /// Entries in the collection.
    pub max_entries: u64,
    /// Bytes in the collection.
    pub max_bytes: u64,
    /// Bytes in one file.
    pub max_file_bytes: u64,
}

impl GateLimits {
    /// Returns the limits of the stream: a bomb stays in its volume (TAR-49).
    pub fn stream(self) -> StreamLimits {
        StreamLimits {
            entries: self.max_entries,
            total_bytes: self.max_bytes,
            file_bytes: self.max_file_bytes,
            ..StreamLimits::DEFAULT
        }
    }
}

/// Returns what a batch is judged by.
pub fn policy(limits: GateLimits, git: GitConfig) -> Policy {
    Policy {
        limits: Limits {
            entries: limits.max_entries,
            total_bytes: limits.max_bytes,
            file_bytes: limits.max_file_bytes,
            ..Limits::shipped()
        },
        // The default file systems of macOS fold case; those of Linux do not.
        destination: if cfg!(target_os = "macos") {
            Destination::Folds
        } else {
            Destination::Distinguishes
        },
        git,
        ..Policy::shipped()
    }
}
