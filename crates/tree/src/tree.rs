//! `Tree`: the manifest of a directory.

use std::collections::BTreeMap;
use std::fmt;
use std::iter::Peekable;
use std::ops::Bound;
use std::str::FromStr;
use std::sync::Arc;

use crate::{Digest, FindingCode, RelPath, RelPathBuf, finding_code};

/// Whether a file may be executed. Nothing else of a mode is carried: files
/// arrive as 0644 or 0755, directories as 0755, each less the umask (TAR-30).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// 0644.
    Plain,
    /// 0755: the owner may execute it.
    Executable,
}

impl Mode {
    /// Reads the owner's execute bit out of a Unix mode.
    pub fn from_unix(mode: u32) -> Self {
        if mode & 0o100 == 0 {
            Self::Plain
        } else {
            Self::Executable
        }
    }

    /// Returns the permission bits, before the umask.
    pub fn to_unix(self) -> u32 {
        match self {
            Self::Plain => 0o644,
            Self::Executable => 0o755,
        }
    }
}

/// The target text of a symbolic link: UTF-8, not empty, no NUL, at most 1,024 bytes.
///
/// It may be absolute or point outside; whether such a link may come back is for
/// the validator to say, and nothing here ever follows it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkTarget(Arc<str>);

/// Why bytes are not a [`LinkTarget`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LinkTargetError {
    /// Empty.
    #[error("the link target is empty")]
    Empty,
    /// A NUL byte.
    #[error("the link target has a NUL byte")]
    Nul,
    /// Not UTF-8.
    #[error("the link target is not UTF-8")]
    Encoding,
    /// A control character other than NUL.
    #[error("the link target has a control character")]
    Control,
    /// Over 1,024 bytes.
    #[error("the link target is longer than 1024 bytes")]
    TooLong,
}

impl LinkTargetError {
    /// Returns the stable code of a link with such a target.
    pub fn code(self) -> &'static FindingCode {
        match self {
            Self::Empty => finding_code::LINK_EMPTY,
            Self::Nul => finding_code::LINK_NUL,
            Self::Encoding => finding_code::LINK_ENCODING,
            Self::Control => finding_code::LINK_CONTROL,
            Self::TooLong => finding_code::LINK_TOO_LONG,
        }
    }
}

impl LinkTarget {
    /// Parses raw bytes.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, LinkTargetError> {
        if bytes.is_empty() {
            return Err(LinkTargetError::Empty);
        }
        if bytes.contains(&0) {
            return Err(LinkTargetError::Nul);
        }
        if bytes.len() > 1024 {
            return Err(LinkTargetError::TooLong);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| LinkTargetError::Encoding)?;
        if text.chars().any(char::is_control) {
            return Err(LinkTargetError::Control);
        }
        Ok(Self(text.into()))
    }

    /// Returns the target as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for LinkTarget {
    type Err = LinkTargetError;

    fn from_str(text: &str) -> Result<Self, LinkTargetError> {
        Self::from_bytes(text.as_bytes())
    }
}

impl fmt::Debug for LinkTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// What lies at one path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Entry {
    /// A directory.
    Dir,
    /// A regular file.
    File {
        /// Executable or not.
        mode: Mode,
        /// Bytes.
        size: u64,
        /// BLAKE3 of the contents.
        digest: Digest,
    },
    /// A symbolic link.
    Symlink {
        /// Where it points, unresolved.
        target: LinkTarget,
    },
}

impl Entry {
    /// Feeds type, mode, size and contents or target to `hasher`, unambiguously.
    pub fn hash_into(&self, hasher: &mut blake3::Hasher) {
        match self {
            Self::Dir => hash_field(hasher, b"d"),
            Self::File { mode, size, digest } => {
                let kind: &[u8] = match mode {
                    Mode::Plain => b"f",
                    Mode::Executable => b"x",
                };
                hash_field(hasher, kind);
                hash_field(hasher, &size.to_le_bytes());
                hash_field(hasher, digest.as_bytes());
            }
            Self::Symlink { target } => {
                hash_field(hasher, b"l");
                hash_field(hasher, target.as_str().as_bytes());
            }
        }
    }
}

fn hash_field(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

/// The manifest of a directory: every entry below it, without the root itself.
///
/// Invariant kept by [`Tree::insert`]'s callers: every parent of an entry is
/// itself in the tree, as a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    entries: BTreeMap<RelPathBuf, Entry>,
}

impl Tree {
    /// Returns an empty tree.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an entry and returns the one it replaces.
    pub fn insert(&mut self, path: RelPathBuf, entry: Entry) -> Option<Entry> {
        self.entries.insert(path, entry)
    }

    /// Removes an entry.
    pub fn remove(&mut self, path: &RelPath) -> Option<Entry> {
        self.entries.remove(path)
    }

    /// Looks an entry up.
    pub fn get(&self, path: &RelPath) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// Iterates in path order: a directory comes before what it contains.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&RelPath, &Entry)> {
        self.entries.iter().map(|(path, entry)| (&**path, entry))
    }

    /// As [`Tree::iter`], for callers that keep paths: a clone shares the text.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = (&RelPathBuf, &Entry)> {
        self.entries.iter()
    }

    /// Iterates over `path` and everything below it, in path order.
    pub fn below<'a>(
        &'a self,
        path: &'a RelPath,
    ) -> impl Iterator<Item = (&'a RelPath, &'a Entry)> {
        self.entries
            .range::<RelPath, _>((Bound::Included(path), Bound::Unbounded))
            .map(|(other, entry)| (&**other, entry))
            .take_while(move |(other, _)| other.starts_with(path))
    }

    /// Counts the entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds up the bytes of all files.
    pub fn total_bytes(&self) -> u64 {
        self.entries
            .values()
            .map(|entry| match entry {
                Entry::File { size, .. } => *size,
                Entry::Dir | Entry::Symlink { .. } => 0,
            })
            .sum()
    }

    /// Returns the files that have more than `limit` bytes, in path order.
    pub fn larger_than(&self, limit: u64) -> Vec<SizedFile> {
        let large = self.iter().filter_map(|(path, entry)| match entry {
            Entry::File { size, .. } if *size > limit => Some(SizedFile {
                path: path.to_owned(),
                bytes: *size,
            }),
            _ => None,
        });
        large.collect()
    }
}

/// A file and its size in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizedFile {
    /// Where it is.
    pub path: RelPathBuf,
    /// Its size, holes included.
    pub bytes: u64,
}

/// Looks entries up, each at a path behind the one before: one pass instead of many searches.
pub struct Ascending<'a, I: Iterator<Item = (&'a RelPath, &'a Entry)>>(Peekable<I>);

impl<'a, I: Iterator<Item = (&'a RelPath, &'a Entry)>> fmt::Debug for Ascending<'a, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ascending").finish_non_exhaustive()
    }
}

impl<'a, I: Iterator<Item = (&'a RelPath, &'a Entry)>> Ascending<'a, I> {
    /// Searches entries that are in path order.
    pub fn over(entries: I) -> Self {
        Self(entries.peekable())
    }

    /// Returns what lies at `path`.
    pub fn get(&mut self, path: &RelPath) -> Option<&'a Entry> {
        while self.0.next_if(|(passed, _)| *passed < path).is_some() {}
        let found = self.0.next_if(|(found, _)| *found == path);
        found.map(|(_, entry)| entry)
    }
}

impl FromIterator<(RelPathBuf, Entry)> for Tree {
    fn from_iter<I: IntoIterator<Item = (RelPathBuf, Entry)>>(entries: I) -> Self {
        Self {
            entries: entries.into_iter().collect(),
        }
    }
}
