//! `PageLayout`: the rows of the diff pane, for one item at one width.

use lazaret_validator::Severity;

use super::diff_view::DiffView;
use super::item::{Allowance, BlockReason, Item, ItemStatus, Mark};
use super::text;

/// A row of the diff pane. Lines of the diff are named, and broken again when they are drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageRow {
    /// A part of the path.
    Name(String),
    /// What is to be said besides the contents.
    Fact(String),
    /// A part of a finding.
    Finding(Severity, String),
    /// Why the item stays, or that it was allowed.
    Status(String),
    /// Nothing.
    Blank,
    /// The head of a hunk.
    Head(usize),
    /// A row of a line.
    Line {
        /// The hunk.
        hunk: usize,
        /// The line in it.
        line: usize,
        /// Which of the rows that the line is broken into.
        part: usize,
    },
    /// The line above ends without a line feed.
    Unterminated,
}

/// The rows of the diff pane.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageLayout {
    /// All of them.
    pub rows: Vec<PageRow>,
    /// The row of each hunk's head.
    pub heads: Vec<usize>,
    /// Columns of one line number.
    pub digits: usize,
}

impl PageLayout {
    /// Lays an item out in `width` columns; without a body only what is known of it.
    pub fn new(item: &Item, diff_view: Option<&DiffView>, width: usize) -> Self {
        let mut page = Self::default();
        let rows = &mut page.rows;
        rows.extend(
            text::name_rows(&item.path, width, 3)
                .into_iter()
                .map(PageRow::Name),
        );
        let words = diff_view.into_iter().flat_map(|diff_view| &diff_view.words);
        for fact in item.facts.iter().chain(words) {
            rows.extend(text::fill(fact, width).into_iter().map(PageRow::Fact));
        }
        for finding in item.findings.iter() {
            let place = finding
                .line
                .map_or(String::new(), |line| format!(" line {line}:"));
            let (severity, code) = (finding.severity, &finding.code);
            let said = format!("{severity} {code}:{place} {}", finding.message);
            let hint = finding.hint.as_ref().map(|hint| format!("  {hint}"));
            for text in [Some(said), hint].into_iter().flatten() {
                let lines = text::fill(&text, width).into_iter();
                rows.extend(lines.map(|line| PageRow::Finding(severity, line)));
            }
        }
        if let Some(words) = status(item) {
            rows.extend(text::fill(&words, width).into_iter().map(PageRow::Status));
        }
        let Some(diff_view) = diff_view else {
            return page;
        };
        page.digits = diff_view.last_line().max(1).ilog10() as usize + 1;
        let room = page.room(width);
        for (hunk, lines) in diff_view.hunks.iter().map(|hunk| &hunk.lines).enumerate() {
            page.rows.push(PageRow::Blank);
            page.heads.push(page.rows.len());
            page.rows.push(PageRow::Head(hunk));
            for (line, shown) in lines.iter().enumerate() {
                let parts = text::rows(&shown.pieces, room);
                page.rows
                    .extend((0..parts).map(|part| PageRow::Line { hunk, line, part }));
                if shown.unterminated {
                    page.rows.push(PageRow::Unterminated);
                }
            }
        }
        page
    }

    /// Lays out what there is to say of a directory that is no change by itself.
    pub fn of_dir(name: &str, items: &[Item], width: usize) -> Self {
        let taken = items
            .iter()
            .filter(|item| matches!(item.mark(), Mark::Taken | Mark::Partly));
        let fact = format!(
            "{} of {} below it will be applied",
            taken.count(),
            items.len()
        );
        let names = text::name_rows(name, width, 3).into_iter();
        Self {
            rows: names
                .map(PageRow::Name)
                .chain([PageRow::Fact(fact)])
                .collect(),
            ..Self::default()
        }
    }

    /// Returns the columns of the numbers and the sign in front of a line's text.
    pub fn gutter(&self) -> usize {
        2 * self.digits + 4
    }

    /// Returns the columns that are left for a line's text.
    pub fn room(&self, width: usize) -> usize {
        width.saturating_sub(self.gutter()).max(2)
    }

    /// Returns the first and the last row of a hunk.
    pub fn span(&self, hunk: usize) -> Option<(usize, usize)> {
        let start = *self.heads.get(hunk)?;
        let end = match self.heads.get(hunk + 1) {
            // A blank row is between them.
            Some(next) => next - 2,
            None => self.rows.len() - 1,
        };
        Some((start, end))
    }
}

fn status(item: &Item) -> Option<String> {
    match (&item.status, item.allowance) {
        (ItemStatus::Free, _) => None,
        (ItemStatus::Blocked, Allowance::None) => {
            Some("Stays in the copy. Press ! to allow it by name.".to_owned())
        }
        (ItemStatus::Blocked, Allowance::Once) => {
            Some("Allowed by you, for this apply. Press ! to take that back.".to_owned())
        }
        (ItemStatus::Blocked, Allowance::Remembered) => Some(
            "Allowed by you, for these contents from now on. Press ! to take that back.".to_owned(),
        ),
        (ItemStatus::Conflict(what), Allowance::None) => Some(format!(
            "Conflict: it {what}, and the two don't fit together. Press ! to have yours replaced."
        )),
        (ItemStatus::Conflict(_), Allowance::Once | Allowance::Remembered) => Some(
            "Your version will be replaced; an undo brings it back. Press ! to take that back."
                .to_owned(),
        ),
        (ItemStatus::Stays(reason @ (BlockReason::Depends(_) | BlockReason::Moved(_))), _) => {
            Some(format!("Stays in the copy: {reason}, which stays"))
        }
        (ItemStatus::Stays(reason), _) => Some(format!("Stays in the copy: {reason}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::item::Sign;
    use super::super::item::tests::item;
    use super::*;

    #[test]
    fn hunks_know_their_rows() {
        let old: String = (1..=30).map(|n| format!("{n}\n")).collect();
        let new = old
            .replace("\n3\n", "\nthree\n")
            .replace("\n30\n", "\nthirty");
        let diff_view = DiffView::compare(&old, &new);
        let page = PageLayout::new(&item(Sign::Modified, "a"), Some(&diff_view), 40);
        assert_eq!(page.digits, 2);
        let (start, end) = page.span(0).unwrap();
        assert_eq!(page.rows[start], PageRow::Head(0));
        assert_eq!(page.rows[end + 1], PageRow::Blank);
        let (start, end) = page.span(1).unwrap();
        assert_eq!(page.rows[start], PageRow::Head(1));
        assert_eq!(page.rows[end], PageRow::Unterminated);
        assert_eq!(page.span(2), None);
    }
}
