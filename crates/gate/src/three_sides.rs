//! The three sides of a conflict: yours, what was sent in, and the session's.

use lazaret_transfer::{EntryAt, merge};
use lazaret_tree::{Change, Entry, escape};

use super::case::Case;
use super::drift::Drift;
use super::file_side::{ContentsError, FileSide, FileSides};

/// How many lines of one side are shown.
const MOST_LINES: usize = 20;
/// How many overlaps of one file are shown.
const MOST_CLASHES: usize = 10;

/// Which version a line is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// None: it says what follows.
    Heading,
    /// The workspace's.
    Yours,
    /// What was sent in.
    Base,
    /// The session's.
    Theirs,
}

/// A line of a conflict, escaped and without a line feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideLine {
    /// Which version it is of.
    pub side: Side,
    /// The text.
    pub text: String,
}

impl Case {
    /// Returns what the sides of a conflict have at the places where they overlap; nothing for a
    /// change that is in none.
    ///
    /// # Errors
    /// When what the session brings can't be read.
    pub fn three_sides(&self, change: &Change) -> Result<Vec<SideLine>, ContentsError> {
        let place = self
            .changes
            .binary_search_by(|other| other.path.cmp(&change.path));
        let drift = place.ok().and_then(|place| self.drifts.get(place));
        let Some(Drift::Conflict(conflict)) = drift else {
            return Ok(Vec::new());
        };
        let yours = match &conflict.host {
            EntryAt::Nothing => FileSide::Absent,
            EntryAt::Entry(entry) => FileSide::of_host(self, entry),
            EntryAt::Other => FileSide::Described("neither file, nor directory, nor link".into()),
        };
        let FileSides { old, new } = FileSides::read(self, change)?;
        let sides = [
            (Side::Yours, &yours),
            (Side::Base, &old),
            (Side::Theirs, &new),
        ];
        let is_compared = |side: &FileSide| !matches!(side, FileSide::Described(_));
        if !sides.iter().all(|(_, side)| is_compared(side)) || yours == FileSide::Absent {
            return Ok(sides.map(|(side, of)| described(side, of)).into());
        }
        let clashes = merge::clashes(old.as_text(), yours.as_text(), new.as_text());
        let mut lines = Vec::new();
        for clash in clashes.iter().take(MOST_CLASHES) {
            let heading = format!("yours, from line {}:", clash.line);
            put(&mut lines, Side::Yours, heading, &clash.host);
            put(&mut lines, Side::Base, "sent in:".to_owned(), &clash.base);
            let heading = "the session's:".to_owned();
            put(&mut lines, Side::Theirs, heading, &clash.session);
        }
        if let Some(more) = clashes.len().checked_sub(MOST_CLASHES + 1) {
            lines.push(SideLine {
                side: Side::Heading,
                text: format!("… and {} more places", more + 1),
            });
        }
        Ok(lines)
    }
}

impl FileSide {
    /// Reads what the workspace has; what was changed since is described.
    fn of_host(case: &Case, entry: &Entry) -> Self {
        let open = |digest: &_| lazaret_tree::Blobs::open(&case.contents, digest);
        Self::read(Some(entry), open).unwrap_or_else(|_| {
            Self::Described("another version: the file was changed in the workspace".to_owned())
        })
    }
}

/// One line for a side without lines that could be compared.
fn described(side: Side, of: &FileSide) -> SideLine {
    let name = match side {
        Side::Heading | Side::Yours => "yours",
        Side::Base => "sent in",
        Side::Theirs => "the session's",
    };
    let words = match of {
        FileSide::Absent => "nothing",
        FileSide::Text(_) => "text",
        FileSide::Described(words) => words,
    };
    SideLine {
        side,
        text: format!("{name}: {words}"),
    }
}

/// A heading, and the lines of one side.
fn put(lines: &mut Vec<SideLine>, side: Side, heading: String, of: &[String]) {
    let heading = match of.is_empty() {
        true => format!("{heading} nothing"),
        false => heading,
    };
    lines.push(SideLine {
        side: Side::Heading,
        text: heading,
    });
    let shown = of.iter().take(MOST_LINES).map(|line| SideLine {
        side,
        text: format!("  {}", inert(line.trim_end_matches(['\r', '\n']))),
    });
    lines.extend(shown);
    if let Some(more) = of.len().checked_sub(MOST_LINES + 1) {
        lines.push(SideLine {
            side,
            text: format!("  … ({} lines)", more + 1 + MOST_LINES),
        });
    }
}

/// Escapes a line; a tab becomes spaces, since a line can be drawn cell by cell.
fn inert(line: &str) -> String {
    let parts: Vec<String> = line
        .split('\t')
        .map(|part| escape(part.as_bytes()))
        .collect();
    parts.join("    ")
}
