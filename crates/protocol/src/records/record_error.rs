//! `RecordError`: why bytes are not the list that they should be.

use std::io;

use lazaret_tree::{FindingCode, finding_code};

/// Why bytes are not the list that they should be.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The reader failed.
    #[error("the list cannot be read: {0}")]
    Read(#[source] io::Error),
    /// It ends too early.
    #[error("the list is cut off")]
    Truncated,
    /// It is something else, or of another version.
    #[error("not a {expected}")]
    Magic {
        /// What it should be.
        expected: &'static str,
    },
    /// A field or a tag that no writer produces.
    #[error("a malformed list: {what}")]
    Malformed {
        /// What is wrong, as a sentence fragment.
        what: &'static str,
    },
    /// The count or the digest at the end is wrong.
    #[error("the list is damaged")]
    Damaged,
    /// Something follows the end.
    #[error("bytes follow the end of the list")]
    Trailing,
    /// More records or longer names than allowed.
    #[error("the list is longer than allowed")]
    TooLong,
}

impl RecordError {
    /// Refuses a field or a tag; `what` is a sentence fragment.
    pub fn malformed(what: &'static str) -> Self {
        Self::Malformed { what }
    }

    /// Returns the stable code.
    pub fn code(&self) -> &'static FindingCode {
        match self {
            Self::Read(_) => finding_code::IO_READ,
            Self::Truncated => finding_code::LIST_TRUNCATED,
            Self::Magic { .. } => finding_code::LIST_MAGIC,
            Self::Malformed { .. } => finding_code::LIST_MALFORMED,
            Self::Damaged => finding_code::LIST_DAMAGED,
            Self::Trailing => finding_code::LIST_TRAILING,
            Self::TooLong => finding_code::LIMIT_LIST,
        }
    }
}
