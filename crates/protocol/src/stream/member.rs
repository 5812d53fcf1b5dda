//! `Member`: one entry of a stream, as it passed the grammar.

use lazaret_tree::{Adjustment, LinkTarget, Mode, RejectedEntry, RelPathBuf};

use crate::FileTime;

/// One entry of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Where it belongs.
    pub path: MemberPath,
    /// What it is.
    pub kind: MemberKind,
    /// Modification time. Any value: the reader clamps it where a file system or
    /// format asks for it (TAR-33).
    pub mtime: FileTime,
    /// What was dropped or made safe.
    pub notes: Vec<Adjustment>,
}

/// A name that passed the rules of the grammar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberPath {
    /// A name that can be carried on.
    Good(RelPathBuf),
    /// A name that a file system can hold and lazaret does not carry.
    Odd(RejectedEntry),
}

/// What a member is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberKind {
    /// A regular file; its bytes come from [`Members::body`](super::Members::body).
    File {
        /// Executable or not; every other mode bit is gone (TAR-30).
        mode: Mode,
        /// Bytes.
        size: u64,
    },
    /// A directory.
    Dir,
    /// A symbolic link, never resolved.
    Symlink {
        /// The target, or why it is not carried.
        target: Result<LinkTarget, RejectedEntry>,
    },
    /// A second name of a file that came before: becomes a copy (TAR-11).
    Hard {
        /// The name of the file, exactly as it came before.
        target: MemberPath,
        /// Bytes of the file; they count again.
        size: u64,
    },
    /// A FIFO (TAR-28).
    Fifo,
}

impl MemberPath {
    /// Returns the raw name.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Good(path) => path.as_str().as_bytes(),
            Self::Odd(refusal) => &refusal.name,
        }
    }
}
