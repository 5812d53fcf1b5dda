//! `UpdateSummary`: what an update of a volume came to.

use lazaret_transfer::{Skipped, SyncConflict};

use crate::commits::repository_news::RepositoryNews;

/// What an update came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateSummary {
    /// Entries that were sent.
    pub sent: u64,
    /// Bytes of contents that were sent.
    pub bytes: u64,
    /// Entries that were removed from the volume.
    pub removed: u64,
    /// Entries that both sides had changed to the same.
    pub adopted: u64,
    /// What both sides changed, and not to the same: it stays as it is in the volume.
    pub conflicts: Vec<SyncConflict>,
    /// What became of the copy's repository, if both sides moved theirs.
    pub repository: RepositoryNews,
    /// What of the workspace was left out.
    pub skipped: Vec<Skipped>,
}
