//! `Header`: what git says of an object before its contents, and why there is none.

use lazaret_transfer::ObjectId;

use crate::git::GitError;

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    /// A commit.
    Commit,
    /// A tree.
    Tree,
    /// The contents of a file.
    Blob,
    /// An annotated tag.
    Tag,
}

/// What is there under an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What it is.
    pub kind: ObjectKind,
    /// Bytes.
    pub size: u64,
}

/// Why an object can't be had.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// There is none with this id.
    #[error("object {0} is missing")]
    Missing(ObjectId),
    /// It is of another kind.
    #[error("object {0} is no {1}")]
    Kind(ObjectId, &'static str),
    /// It is larger than what is read of its kind.
    #[error("object {id} has {size} bytes; at most {most} are read")]
    TooLarge {
        /// Which.
        id: ObjectId,
        /// Its size.
        size: u64,
        /// The most that is read.
        most: u64,
    },
    /// It is damaged, or git could not go on.
    #[error("object {0} can't be read")]
    Unreadable(ObjectId),
    /// Git could not be run.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Reads `<id> <kind> <size>` or `<id> missing`.
pub(crate) fn header(line: &[u8], id: &ObjectId) -> Result<Header, ObjectError> {
    let text = std::str::from_utf8(line).unwrap_or_default();
    let mut words = text.trim_end_matches('\n').split(' ');
    let (name, kind, size) = (words.next(), words.next(), words.next());
    if name.and_then(|name| ObjectId::from_hex(name.as_bytes())) != Some(*id) {
        return Err(ObjectError::Unreadable(*id));
    }
    let kind = match kind {
        Some("commit") => ObjectKind::Commit,
        Some("tree") => ObjectKind::Tree,
        Some("blob") => ObjectKind::Blob,
        Some("tag") => ObjectKind::Tag,
        Some("missing") => return Err(ObjectError::Missing(*id)),
        _ => return Err(ObjectError::Unreadable(*id)),
    };
    let size = size.and_then(|size| size.parse().ok());
    let size = size.ok_or(ObjectError::Unreadable(*id))?;
    Ok(Header { kind, size })
}

impl ObjectKind {
    /// Returns git's word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }
}
