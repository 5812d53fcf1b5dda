//! `FileLimit`: how large a file that goes in may be.

use std::cmp::Reverse;

use lazaret_protocol::UpdateOrder;
use lazaret_transfer::larger_than;
use lazaret_tree::{SizedFile, escape};

use crate::failure::{Failure, FailureKind};
use crate::profile::Profile;
use crate::session::record::GateLimits;
use crate::session::source::Source;
use crate::ui::{bytes, count};

/// The most bytes of one file that a session's processes may write, the copy included
/// (`RLIMIT_FSIZE`, `man 2 setrlimit`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLimit(u64);

impl FileLimit {
    /// Returns that of a profile: a file may be as large as all that comes back.
    pub fn of(profile: &Profile) -> Self {
        let gate = &profile.gate;
        Self(gate.max_bytes.max(gate.max_file_bytes))
    }

    /// Returns that of a session.
    pub fn of_session(gate: GateLimits) -> Self {
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
    pub fn check(self, source: Source<'_>) -> Result<(), Failure> {
        self.refuse(&larger_than(self.0, source.workspace, source.selector)?)
    }

    /// Looks at what an update would send.
    ///
    /// # Errors
    /// When a file is too large.
    pub fn check_order(self, order: &UpdateOrder) -> Result<(), Failure> {
        self.refuse(&order.send.larger_than(self.0))
    }

    /// Refuses files that are too large, by name.
    ///
    /// # Errors
    /// When there is one.
    pub fn refuse(self, large: &[SizedFile]) -> Result<(), Failure> {
        const MOST_NAMES: usize = 5;
        let mut large: Vec<&SizedFile> = large.iter().collect();
        large.sort_by_key(|file| Reverse(file.bytes));
        let Some(largest) = large.first() else {
            return Ok(());
        };
        let name = |file: &SizedFile| escape(file.path.as_str().as_bytes());
        let named = large.iter().take(MOST_NAMES);
        let mut names: Vec<String> = named
            .map(|file| format!("{} ({})", name(file), bytes(file.bytes)))
            .collect();
        if let Some(more) = large.len().checked_sub(MOST_NAMES).filter(|more| *more > 0) {
            names.push(format!("and {} more", count(more as u64)));
        }
        let text = format!(
            "cannot copy in {}: the limit for one file is {}",
            names.join(", "),
            bytes(self.0)
        );
        let path = name(largest);
        Err(Failure::message(FailureKind::Workspace, text)
            .hinted(format!(
                "Leave it out: add the line /{path} to .lazaretignore."
            ))
            .hinted("Or raise the limit in the profile: `gate.max_bytes = \"16g\"`."))
    }
}
