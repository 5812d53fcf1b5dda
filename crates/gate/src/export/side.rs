//! One side of a change, for people.

use std::io::{self, Read};

use lazaret_tree::{Blobs as _, Change, Digest, Entry, LinkTarget, Mode, RelPath, escape};

use super::lines::{Compared, Counts};
use crate::case::Case;
use crate::contents::MOST_TEXT_BYTES;

/// What a batch brings can't be read, or is not what its digest says.
#[derive(Debug, thiserror::Error)]
#[error("the quarantine can't be read")]
pub struct ContentsError(#[source] pub io::Error);

/// What is known of one side of a change, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Side {
    /// Nothing is there.
    Absent,
    /// Text: UTF-8 without a NUL byte.
    Text(String),
    /// A description instead: binary, too large, changed on the host, not a file.
    Words(String),
}

impl Side {
    /// Reads both sides of a change.
    ///
    /// # Errors
    /// When what the change brings can't be read, or is damaged.
    pub fn both(case: &Case, change: &Change) -> Result<(Self, Self), ContentsError> {
        if same_contents(change) {
            // Equal contents are not fetched, so they may not be there.
            let words = || Self::Words("the same contents".to_owned());
            return Ok((words(), words()));
        }
        Ok((Self::old(case, change), Self::new(case, change)?))
    }

    /// What was there is shown only while it is that from which the change starts.
    fn old(case: &Case, change: &Change) -> Self {
        let (size, digest) = match Self::described(change.before.as_ref()) {
            Ok(file) => file,
            Err(side) => return side,
        };
        let bytes =
            open_old(case, &change.path, digest).and_then(|reader| read(reader, size, digest));
        match bytes {
            Ok(bytes) => text(bytes, size, digest),
            Err(_) => {
                Self::Words("another version: the file was changed in the workspace".to_owned())
            }
        }
    }

    fn new(case: &Case, change: &Change) -> Result<Self, ContentsError> {
        let (size, digest) = match Self::described(change.after.as_ref()) {
            Ok(file) => file,
            Err(side) => return Ok(side),
        };
        let bytes = open_new(case, digest)
            .and_then(|reader| read(reader, size, digest))
            .map_err(ContentsError)?;
        Ok(text(bytes, size, digest))
    }

    /// Describes what has no contents to show; gives size and digest of what has.
    fn described(entry: Option<&Entry>) -> Result<(u64, &Digest), Self> {
        match entry {
            None => Err(Self::Absent),
            Some(Entry::Dir) => Err(Self::Words("a directory".to_owned())),
            Some(Entry::Symlink { target }) => Err(Self::link(target)),
            Some(Entry::File { size, digest, .. }) if *size > MOST_TEXT_BYTES => {
                Err(describe("too large to show", *size, digest))
            }
            Some(Entry::File { size, digest, .. }) => Ok((*size, digest)),
        }
    }

    fn link(target: &LinkTarget) -> Self {
        Self::Words(format!("a link to {}", escape(target.as_str().as_bytes())))
    }

    /// Returns the text; nothing for a side without any.
    pub fn as_text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Absent | Self::Words(_) => "",
        }
    }
}

/// Whether a change is of the mode alone: the quarantine does not hold the contents then.
pub(super) fn same_contents(change: &Change) -> bool {
    matches!((&change.before, &change.after),
        (Some(Entry::File { digest: old, .. }), Some(Entry::File { digest: new, .. })) if old == new)
}

/// Says what changed besides the contents.
pub fn nature(before: &Entry, after: &Entry) -> Option<String> {
    match (before, after) {
        (Entry::File { mode: a, .. }, Entry::File { mode: b, .. }) if a != b => Some(match b {
            Mode::Executable => "became executable".to_owned(),
            Mode::Plain => "is no longer executable".to_owned(),
        }),
        (Entry::File { .. }, Entry::File { .. })
        | (Entry::Dir, Entry::Dir)
        | (Entry::Symlink { .. }, Entry::Symlink { .. }) => None,
        _ => Some(format!("{} became {}", kind(before), kind(after))),
    }
}

fn kind(entry: &Entry) -> &'static str {
    match entry {
        Entry::Dir => "a directory",
        Entry::File { .. } => "a file",
        Entry::Symlink { .. } => "a symbolic link",
    }
}

/// Counts the lines of a change; `None` where a side is no text that could be compared.
///
/// # Errors
/// As [`Side::both`].
pub fn counts(case: &Case, change: &Change) -> Result<Option<Counts>, ContentsError> {
    if same_contents(change) {
        return Ok(Some(Counts::default()));
    }
    let (old, new) = Side::both(case, change)?;
    let is_text = |side: &Side| matches!(side, Side::Absent | Side::Text(_));
    let compare = || Compared::new(old.as_text().as_bytes(), new.as_text().as_bytes()).counts();
    Ok((is_text(&old) && is_text(&new)).then(compare))
}

/// A NUL byte or invalid UTF-8 makes a file binary; it is named by size and digest, and
/// never passed over in silence (AUD-05).
fn text(bytes: Vec<u8>, size: u64, digest: &Digest) -> Side {
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Side::Text(text),
        _ => describe("binary", size, digest),
    }
}

/// The whole digest: two files that agree in a part of it can be made, and would look as if
/// nothing had changed.
fn describe(what: &str, size: u64, digest: &Digest) -> Side {
    Side::Words(format!("{what}, {size} bytes, blake3 {}", digest.to_hex()))
}

/// Opens what was there before: as it was sent in, or from the workspace. The bytes may not
/// match the digest, so the caller checks them.
pub(super) fn open_old<'a>(
    case: &'a Case,
    path: &RelPath,
    digest: &Digest,
) -> io::Result<Box<dyn Read + 'a>> {
    match case.contents.open(digest) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => return other,
    }
    let file = case.contents.workspace().open_file(path);
    Ok(Box::new(file.map_err(|error| error.source)?))
}

/// Opens what a change brings.
pub(super) fn open_new<'a>(case: &'a Case, digest: &Digest) -> io::Result<Box<dyn Read + 'a>> {
    case.contents.open(digest)
}

/// Reads what has this size and this digest, and nothing else.
pub(super) fn read(reader: impl Read, size: u64, digest: &Digest) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(size + 1).read_to_end(&mut bytes)?;
    match Digest::of(&bytes) == *digest {
        true => Ok(bytes),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "it does not hold what its digest says",
        )),
    }
}
