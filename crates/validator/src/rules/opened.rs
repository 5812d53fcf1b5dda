//! `Opened`: the contents of both sides of a change, read at most once, for the rules
//! that look inside.

use std::cell::OnceCell;
use std::io::{self, Read as _};

use lazaret_transfer::{Change, Digest, Entry, RelPath};

use crate::Contents;

/// Contents above this many bytes are not looked into; `content.unexamined` says so.
pub(crate) const MOST_BYTES: u64 = 16 << 20;

/// What one side of a change holds.
#[derive(Debug)]
pub(crate) enum Side {
    /// No file is there.
    Absent,
    /// The contents, whose digest was checked.
    Bytes(Vec<u8>),
    /// More than [`MOST_BYTES`].
    TooLarge,
    /// The contents can't be had; of the side before that is ordinary.
    Unreadable(io::ErrorKind),
}

impl Side {
    /// Returns the contents, when they are there and UTF-8 without a NUL byte.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Bytes(bytes) if !bytes.contains(&0) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }
}

/// A change whose contents can be looked into: a file that is new, or has other contents
/// than before, outside the workspace's own `.git`.
pub(crate) struct Opened<'a> {
    change: &'a Change,
    contents: &'a dyn Contents,
    before: OnceCell<Side>,
    after: OnceCell<Side>,
}

impl<'a> Opened<'a> {
    /// Returns nothing for a change that brings no contents.
    pub(crate) fn new(change: &'a Change, contents: &'a dyn Contents) -> Option<Self> {
        let Some(Entry::File { digest, .. }) = &change.after else {
            return None;
        };
        match &change.before {
            Some(Entry::File { digest: old, .. }) if old == digest => None,
            _ => Some(Self {
                change,
                contents,
                before: OnceCell::new(),
                after: OnceCell::new(),
            }),
        }
    }

    pub(crate) fn change(&self) -> &'a Change {
        self.change
    }

    pub(crate) fn path(&self) -> &'a RelPath {
        &self.change.path
    }

    /// Returns what was there before.
    pub(crate) fn before(&self) -> &Side {
        let read = || read(self.change.before.as_ref(), self.contents);
        self.before.get_or_init(read)
    }

    /// Returns what the change brings.
    pub(crate) fn after(&self) -> &Side {
        let read = || read(self.change.after.as_ref(), self.contents);
        self.after.get_or_init(read)
    }
}

fn read(entry: Option<&Entry>, contents: &dyn Contents) -> Side {
    let (size, digest) = match entry {
        Some(Entry::File { size, digest, .. }) => (*size, digest),
        Some(Entry::Dir | Entry::Symlink { .. }) | None => return Side::Absent,
    };
    if size > MOST_BYTES {
        return Side::TooLarge;
    }
    let mut bytes = Vec::new();
    let read = contents
        .open(digest)
        .and_then(|reader| reader.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    match read {
        Err(error) => Side::Unreadable(error.kind()),
        Ok(_) if Digest::of(&bytes) != *digest => Side::Unreadable(io::ErrorKind::InvalidData),
        Ok(_) => Side::Bytes(bytes),
    }
}
