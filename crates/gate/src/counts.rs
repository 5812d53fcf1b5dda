//! How many lines a batch adds and removes, as far as counting is worth the time.

use lazaret_tree::Change;
use similar::{ChangeTag, TextDiff};

use super::case::Case;

/// More texts than this are not compared for a number.
const MOST_FILES: usize = 2000;
/// Nor are more bytes.
const MOST_BYTES: usize = 32 << 20;

/// Lines, as in the sum of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lines {
    /// New.
    pub added: u64,
    /// Gone.
    pub removed: u64,
    /// Whether there are more that were not counted.
    pub more: More,
}

/// Whether counting was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    /// All texts were counted.
    No,
    /// Only the first ones were.
    Yes,
}

/// Counts the lines of all texts among `changes`. What is no text has no lines.
pub fn lines<'a>(case: &Case, changes: impl IntoIterator<Item = &'a Change>) -> Lines {
    let mut lines = Lines {
        added: 0,
        removed: 0,
        more: More::No,
    };
    let (mut files, mut bytes) = (0, 0);
    for change in changes {
        if files >= MOST_FILES || bytes >= MOST_BYTES {
            lines.more = More::Yes;
            break;
        }
        if let Some((old, new)) = case.texts(change) {
            files += 1;
            bytes += old.len() + new.len();
            let diff = TextDiff::from_lines(&old, &new);
            for change in diff.iter_all_changes() {
                match change.tag() {
                    ChangeTag::Equal => {}
                    ChangeTag::Delete => lines.removed += 1,
                    ChangeTag::Insert => lines.added += 1,
                }
            }
        }
    }
    lines
}
