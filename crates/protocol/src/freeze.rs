//! What is said around a freeze by signals: `porter hold`, where no freezer is.
//!
//! ```text
//! host → porter   a byte: KEEP to freeze, and again before it gives up; END to let go
//! porter → host   "held N\n" once everybody stands still
//! porter → host   "released\n" once everybody goes on
//! ```
//!
//! The end of the porter's stdin is as good as [`END`].

use std::fmt;

/// The byte that ends it.
pub const END: u8 = b'.';

/// The byte that starts it or goes on with it; so does any other.
pub const KEEP: u8 = b'h';

/// What the porter answers, a line each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FreezeReply {
    /// Everybody stands still.
    Frozen {
        /// How many processes were stopped.
        processes: usize,
    },
    /// Everybody goes on.
    Released,
}

impl FreezeReply {
    /// Reads a line, without its end; `None` if a porter says no such thing.
    pub fn parse(line: &str) -> Option<Self> {
        match line.strip_prefix("held ") {
            Some(count) => {
                let processes = count.parse().ok()?;
                Some(Self::Frozen { processes })
            }
            None => (line == "released").then_some(Self::Released),
        }
    }
}

impl fmt::Display for FreezeReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frozen { processes } => write!(f, "held {processes}"),
            Self::Released => f.write_str("released"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_read_as_it_was_written() {
        for reply in [FreezeReply::Frozen { processes: 7 }, FreezeReply::Released] {
            assert_eq!(FreezeReply::parse(&reply.to_string()), Some(reply));
        }
        for nonsense in ["held", "held ", "held x", "release", ""] {
            assert_eq!(FreezeReply::parse(nonsense), None, "{nonsense}");
        }
    }
}
