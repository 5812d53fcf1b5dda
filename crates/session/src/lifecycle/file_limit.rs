//! `FileLimit`: how large a file that goes in may be.

use std::cmp::Reverse;

use lazaret_protocol::UpdateRequest;
use lazaret_transfer::{WalkError, larger_than};
use lazaret_tree::SizedFile;

use crate::spec::Source;
use crate::store::record::GateLimits;

/// The most bytes of one file that a session's processes may write, the copy included
/// (`RLIMIT_FSIZE`, `man 2 setrlimit`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLimit(u64);

/// Files that are larger than the limit; there is at least one.
#[derive(Debug, thiserror::Error)]
#[error("{} files are larger than {} bytes", .files.len(), .limit.bytes())]
pub struct TooLarge {
    /// The limit.
    pub limit: FileLimit,
    /// The files, largest first.
    pub files: Vec<SizedFile>,
}

/// Why a workspace can't be copied in.
#[derive(Debug, thiserror::Error)]
pub enum SizeError {
    /// It can't be read.
    #[error(transparent)]
    Walk(#[from] WalkError),
    /// It has files that are too large.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

impl FileLimit {
    /// Returns that of a session: a file may be as large as all that comes back.
    pub fn of(gate: GateLimits) -> Self {
        Self(gate.max_bytes.max(gate.max_file_bytes))
    }

    /// Returns it in bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }

    /// Looks at the size of every file that would be copied in.
    ///
    /// # Errors
    /// When one is too large, or a directory can't be read.
    pub fn check(self, source: Source<'_>) -> Result<(), SizeError> {
        Ok(self.refuse(larger_than(self.0, source.dir, source.selector)?)?)
    }

    /// Looks at what an update would send.
    ///
    /// # Errors
    /// When a file is too large.
    pub fn check_order(self, request: &UpdateRequest) -> Result<(), TooLarge> {
        self.refuse(request.send.larger_than(self.0))
    }

    /// Refuses files that are too large.
    ///
    /// # Errors
    /// When there is one.
    pub fn refuse(self, mut files: Vec<SizedFile>) -> Result<(), TooLarge> {
        files.sort_by_key(|file| Reverse(file.bytes));
        match files.is_empty() {
            true => Ok(()),
            false => Err(TooLarge { limit: self, files }),
        }
    }
}
