//! What is said to `porter usage`, which tells how full volumes are. Amounts are those of all
//! together.
//!
//! ```text
//! host → porter   a byte: FREE or WALK
//! porter → host   "free BYTES INODES\n"    what their file systems have left
//!                 "used BYTES INODES\n"    what they hold
//!                 "part BYTES INODES\n"    what they hold at least: directories were moved meanwhile
//! ```
//!
//! The end of the porter's stdin ends it.

use std::fmt;

/// The byte that asks what is left; it takes microseconds.
pub const FREE: u8 = b'f';

/// The byte that has the volume walked.
pub const WALK: u8 = b'w';

/// An amount of storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// Bytes, in blocks that are allocated (`man 3type stat`: `st_blocks`).
    pub bytes: u64,
    /// Files, directories and everything else, each once, however many names it has.
    pub inodes: u64,
}

/// What the porter answers, a line each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageReply {
    /// What the file system has left. A file system without a fixed number of inodes has none
    /// left, or as many as it likes (`man 3 statvfs`).
    Free(Amount),
    /// What the volume holds.
    Used(Amount),
    /// What it holds at least: directories were moved while they were looked into.
    Part(Amount),
}

impl UsageReply {
    /// Reads a line, without its end; `None` if a porter says no such thing.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let (word, bytes, inodes) = (words.next()?, words.next()?, words.next()?);
        let amount = Amount {
            bytes: bytes.parse().ok()?,
            inodes: inodes.parse().ok()?,
        };
        let reply = match word {
            "free" => Self::Free(amount),
            "used" => Self::Used(amount),
            "part" => Self::Part(amount),
            _ => return None,
        };
        words.next().is_none().then_some(reply)
    }
}

impl fmt::Display for UsageReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, Amount { bytes, inodes }) = match self {
            Self::Free(amount) => ("free", amount),
            Self::Used(amount) => ("used", amount),
            Self::Part(amount) => ("part", amount),
        };
        write!(f, "{word} {bytes} {inodes}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_read_as_it_was_written() {
        let amount = Amount {
            bytes: u64::MAX,
            inodes: 7,
        };
        for reply in [
            UsageReply::Free(amount),
            UsageReply::Used(amount),
            UsageReply::Part(amount),
        ] {
            assert_eq!(UsageReply::parse(&reply.to_string()), Some(reply));
        }
        for nonsense in ["", "used", "used 1", "used 1 x", "used 1 2 3", "had 1 2"] {
            assert_eq!(UsageReply::parse(nonsense), None, "{nonsense}");
        }
    }
}
