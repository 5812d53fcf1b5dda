//! `RejectedEntry` and `Adjustment`: an entry that stays behind, and one that was made safe.

use std::fmt;

use crate::{FindingCode, escape};

/// An entry that a file system can hold and lazaret does not carry.
///
/// It is data, not an error: one stray FIFO must not cost hours of work
/// (docs/design/threats.md, section 0, outcome `Q`). What can not come from a file system
/// ends the whole batch instead, as a `StreamError`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RejectedEntry {
    /// The raw name, relative to the workspace; show it through `escape` only.
    pub name: Vec<u8>,
    /// What is wrong, such as [`TYPE_FIFO`](crate::finding_code::TYPE_FIFO).
    pub code: &'static FindingCode,
    /// One sentence fragment for people.
    pub reason: String,
}

/// Something about a member that was dropped or made safe, and is worth showing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adjustment {
    /// The member's raw name; show it through `escape` only.
    pub name: Vec<u8>,
    /// What was dropped or made safe.
    pub code: &'static FindingCode,
    /// One sentence fragment for people, already escaped.
    pub reason: String,
}

impl RejectedEntry {
    /// Returns a refusal of `name`.
    pub fn new(
        name: impl Into<Vec<u8>>,
        code: &'static FindingCode,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            code,
            reason: reason.into(),
        }
    }
}

impl fmt::Display for RejectedEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} [{}]", escape(&self.name), self.reason, self.code)
    }
}
