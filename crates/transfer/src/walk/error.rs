//! `WalkError`: why a workspace could not be read as one consistent tree.

use std::io;

use lazaret_protocol::StreamError;
use lazaret_tree::escape;

/// A failure that names the entry; nothing is started on a partial copy (FLT-04).
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// It cannot be read.
    #[error("{}: {source}", escape(.name))]
    Io {
        /// The raw path below the root.
        name: Vec<u8>,
        /// The cause.
        source: io::Error,
    },
    /// It was there, and then it was not.
    #[error("{}: vanished while it was read", escape(.name))]
    Vanished {
        /// The raw path below the root.
        name: Vec<u8>,
    },
    /// It ended before the size that it had when it was opened.
    #[error("{}: shrank while it was read", escape(.name))]
    Shrank {
        /// The raw path below the root.
        name: Vec<u8>,
    },
    /// It is larger than when it was opened.
    #[error("{}: grew while it was read", escape(.name))]
    Grew {
        /// The raw path below the root.
        name: Vec<u8>,
    },
    /// It was written to, or replaced by something else.
    #[error("{}: changed while it was read", escape(.name))]
    Changed {
        /// The raw path below the root.
        name: Vec<u8>,
    },
    /// A line of a `.lazaretignore` is no pattern.
    #[error("{}: line {line}: {message}", escape(.name))]
    IgnoreLine {
        /// The raw path of the file below the root.
        name: Vec<u8>,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
    /// The workspace is no working directory, but a repository without one, or the inside of one.
    #[error(
        "the workspace is a bare repository: it has no files to work on; make it a worktree with `git worktree add`"
    )]
    Bare,
    /// There is more than the limits allow; always one of the `limit.` codes.
    #[error(transparent)]
    Limit(StreamError),
}

impl WalkError {
    pub(crate) fn io(name: &[u8], error: impl Into<io::Error>) -> Self {
        let (name, source) = (name.to_vec(), error.into());
        match source.kind() {
            io::ErrorKind::NotFound => Self::Vanished { name },
            _ => Self::Io { name, source },
        }
    }

    /// Returns the raw path below the root that the error is about; empty for the root.
    pub fn name(&self) -> &[u8] {
        match self {
            Self::Io { name, .. }
            | Self::Vanished { name }
            | Self::Shrank { name }
            | Self::Grew { name }
            | Self::Changed { name }
            | Self::IgnoreLine { name, .. } => name,
            Self::Bare | Self::Limit(_) => b"",
        }
    }
}
