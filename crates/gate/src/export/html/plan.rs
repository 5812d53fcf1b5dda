//! How much of each change the page shows.

use lazaret_tree::Entry;

use crate::case::Case;
use crate::export::report_input::{ReportInput, ReportItem};
use crate::file_diff::LineCounts;
use crate::file_side::ContentsError;

/// Batches with more lines than this are folded, but for what a person has to look at.
const OPEN_LINES: u64 = 1500;
/// Lines of one unremarkable file that are shown.
const FILE_LINES: u64 = 400;
/// Lines of all unremarkable files that are shown.
const PAGE_LINES: u64 = 20_000;
/// Bytes of all remarkable files that are shown. A larger page no browser opens; what is over
/// it is named all the same, with its digest.
const PAGE_BYTES: u64 = 32 << 20;

/// How one change is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Show {
    /// By its line in the table of files.
    Row,
    /// In a section, folded or not, with at most so many lines.
    Section {
        /// Whether it is there at once.
        fold: Fold,
        /// The most lines, or all.
        most: Option<usize>,
    },
    /// In an open section without its lines: there is no room on the page.
    NoRoom,
}

/// Whether a section is there at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    Open,
    Closed,
}

impl Show {
    /// Whether there is something to lead to.
    pub(super) fn has_section(self) -> bool {
        self != Self::Row
    }
}

/// Plans the whole page, one answer per change.
pub(super) fn plan(
    input: &ReportInput<'_>,
    case: &Case,
    all: LineCounts,
) -> Result<Vec<Show>, ContentsError> {
    let fold = match all.added + all.removed > OPEN_LINES {
        true => Fold::Closed,
        false => Fold::Open,
    };
    let (mut lines, mut bytes) = (PAGE_LINES, PAGE_BYTES);
    let mut shows = Vec::with_capacity(input.items.len());
    for item in &input.items {
        let is_dir = |side: &Option<Entry>| matches!(side, None | Some(Entry::Dir));
        let change = item.change();
        let nothing_inside = is_dir(&change.before) && is_dir(&change.after);
        if nothing_inside && input.about(item).is_empty() {
            shows.push(Show::Row);
            continue;
        }
        if item.is_remarkable() {
            let size = size(item);
            shows.push(match bytes.checked_sub(size) {
                Some(left) => {
                    bytes = left;
                    Show::Section {
                        fold: Fold::Open,
                        most: None,
                    }
                }
                None => Show::NoRoom,
            });
            continue;
        }
        if lines == 0 {
            shows.push(Show::Row);
            continue;
        }
        let counts = item.counts(case)?.unwrap_or_default();
        let most = FILE_LINES.min(lines);
        lines -= (counts.added + counts.removed).min(most).max(1);
        shows.push(Show::Section {
            fold,
            most: usize::try_from(most).ok(),
        });
    }
    Ok(shows)
}

/// The bytes of both sides.
fn size(item: &ReportItem<'_>) -> u64 {
    let side = |side: &Option<Entry>| match side {
        Some(Entry::File { size, .. }) => *size,
        _ => 0,
    };
    side(&item.change().before).saturating_add(side(&item.change().after))
}
