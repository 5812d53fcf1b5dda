//! `FileSides`: both versions of a changed path, as text or in words.

use std::io::{self, Read};

use lazaret_tree::{Blobs, Change, Digest, Entry, LinkTarget, Mode, RelPath, escape};

use super::case::Case;
use super::contents::{MOST_TEXT_BYTES, checked, text};
use super::file_diff::{FileDiff, LineCounts};

/// More texts than this are not compared for a sum.
const MOST_SUMMED_FILES: usize = 2000;
/// Nor are more bytes.
const MOST_SUMMED_BYTES: u64 = 32 << 20;

/// What a batch brings can't be read, or is not what its digest says.
#[derive(Debug, thiserror::Error)]
#[error("the quarantine can't be read")]
pub struct ContentsError(#[source] pub io::Error);

/// One version of a path, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileSide {
    /// Nothing is there.
    Absent,
    /// Text: UTF-8 without a NUL byte.
    Text(String),
    /// A description instead: binary, too large, changed on the host, not a file.
    Described(String),
}

/// Both versions of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSides {
    /// What was there.
    pub old: FileSide,
    /// What is there after the change.
    pub new: FileSide,
}

/// The lines of many changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineSum {
    /// Those that were counted.
    pub counts: LineCounts,
    /// Whether counting was given up before the end.
    pub is_partial: bool,
}

impl FileSides {
    /// Reads both sides of a change.
    ///
    /// # Errors
    /// When what the change brings can't be read, or is damaged.
    pub fn read(case: &Case, change: &Change) -> Result<Self, ContentsError> {
        let (old, new) = if same_contents(change) {
            // Equal contents are not fetched, so they may not be there.
            let side = FileSide::Described("the same contents".to_owned());
            (side.clone(), side)
        } else {
            (FileSide::old(case, change), FileSide::new(case, change)?)
        };
        Ok(Self { old, new })
    }

    /// Reads both sides of a change from one place.
    ///
    /// # Errors
    /// When contents can't be read, or are not what their digest says.
    pub fn of(change: &Change, blobs: &dyn Blobs) -> io::Result<Self> {
        if same_contents(change) {
            let side = FileSide::Described("the same contents".to_owned());
            return Ok(Self {
                old: side.clone(),
                new: side,
            });
        }
        Ok(Self {
            old: FileSide::read(change.before.as_ref(), |digest| blobs.open(digest))?,
            new: FileSide::read(change.after.as_ref(), |digest| blobs.open(digest))?,
        })
    }

    /// Compares them; a side that is no text counts as empty.
    pub fn diff(&self) -> FileDiff<'_> {
        FileDiff::new(self.old.as_text(), self.new.as_text())
    }

    /// Says what the sides are that are no text. They never look unchanged (AUD-05).
    pub fn descriptions(&self) -> Vec<String> {
        use FileSide::{Absent, Described, Text};
        match (&self.old, &self.new) {
            (Absent, Described(only)) | (Described(only), Absent) => vec![only.clone()],
            (Described(old), Described(new)) if old == new => vec![old.clone()],
            (Described(old), Described(new)) => vec![format!("was {old}"), format!("now {new}")],
            (Described(old), Text(_)) => vec![format!("was {old}")],
            (Text(_), Described(new)) => vec![format!("now {new}")],
            (Absent | Text(_), Absent | Text(_)) => Vec::new(),
        }
    }
}

impl FileSide {
    /// What was there is shown only while it is that from which the change starts.
    fn old(case: &Case, change: &Change) -> Self {
        Self::read(change.before.as_ref(), |digest| {
            open_old(case, &change.path, digest)
        })
        .unwrap_or_else(|_| {
            Self::Described("another version: the file was changed in the workspace".to_owned())
        })
    }

    fn new(case: &Case, change: &Change) -> Result<Self, ContentsError> {
        Self::read(change.after.as_ref(), |digest| case.contents.open(digest))
            .map_err(ContentsError)
    }

    /// Describes what has no contents to show, and reads what has.
    pub(super) fn read<'a>(
        entry: Option<&Entry>,
        open: impl FnOnce(&Digest) -> io::Result<Box<dyn Read + 'a>>,
    ) -> io::Result<Self> {
        Ok(match entry {
            None => Self::Absent,
            Some(Entry::Dir) => Self::Described("a directory".to_owned()),
            Some(Entry::Symlink { target }) => Self::link(target),
            Some(Entry::File { size, digest, .. }) if *size > MOST_TEXT_BYTES => {
                describe("too large to show", *size, digest)
            }
            Some(Entry::File { size, digest, .. }) => {
                let bytes = checked(open(digest)?, digest, *size)?;
                match text(bytes) {
                    Some(text) => Self::Text(text),
                    None => describe("binary", *size, digest),
                }
            }
        })
    }

    fn link(target: &LinkTarget) -> Self {
        Self::Described(format!("a link to {}", escape(target.as_str().as_bytes())))
    }

    /// Returns the text; nothing for a side without any.
    pub fn as_text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Absent | Self::Described(_) => "",
        }
    }

    fn is_described(&self) -> bool {
        matches!(self, Self::Described(_))
    }
}

/// Whether a change is of the mode alone: the quarantine does not hold the contents then.
pub(super) fn same_contents(change: &Change) -> bool {
    matches!((&change.before, &change.after),
        (Some(Entry::File { digest: old, .. }), Some(Entry::File { digest: new, .. })) if old == new)
}

/// Says what changed besides the contents.
pub fn mode_or_type_change(before: &Entry, after: &Entry) -> Option<String> {
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

/// Says in a word what a change without lines is about.
pub fn kind_without_lines(change: &Change) -> &'static str {
    match (&change.before, &change.after) {
        (_, Some(Entry::Dir)) | (Some(Entry::Dir), None) => "directory",
        (_, Some(Entry::Symlink { .. })) | (Some(Entry::Symlink { .. }), None) => "link",
        _ => "no text",
    }
}

/// Counts the lines of a change; `None` where a side is no text that could be compared.
///
/// # Errors
/// As [`FileSides::read`].
pub fn line_counts(case: &Case, change: &Change) -> Result<Option<LineCounts>, ContentsError> {
    if same_contents(change) {
        return Ok(Some(LineCounts::default()));
    }
    let sides = FileSides::read(case, change)?;
    let is_text = !sides.old.is_described() && !sides.new.is_described();
    Ok(is_text.then(|| sides.diff().counts()))
}

/// Counts the lines of all texts among `changes`, as far as that is worth the time.
pub fn sum_lines<'a>(case: &Case, changes: impl IntoIterator<Item = &'a Change>) -> LineSum {
    let mut sum = LineSum::default();
    let (mut files, mut bytes) = (0, 0);
    for change in changes {
        if files >= MOST_SUMMED_FILES || bytes >= MOST_SUMMED_BYTES {
            sum.is_partial = true;
            break;
        }
        if let Ok(Some(counts)) = line_counts(case, change) {
            files += 1;
            bytes += [&change.before, &change.after]
                .map(size)
                .iter()
                .sum::<u64>();
            sum.counts.added += counts.added;
            sum.counts.removed += counts.removed;
        }
    }
    sum
}

fn size(entry: &Option<Entry>) -> u64 {
    match entry {
        Some(Entry::File { size, .. }) => *size,
        _ => 0,
    }
}

/// The whole digest: two files that agree in a part of it can be made, and would look as if
/// nothing had changed.
fn describe(what: &str, size: u64, digest: &Digest) -> FileSide {
    FileSide::Described(format!("{what}, {size} bytes, blake3 {}", digest.to_hex()))
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
