//! `PageLayout`: the rows of the diff pane, for one item at one width.

use lazaret_validator::{Finding, Severity};

use super::diff_view::{DiffView, FileHead};
use super::item::{Allowance, BlockReason, Item, ItemFindings, ItemStatus, Mark};
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
    /// The last row of each hunk.
    pub ends: Vec<usize>,
    /// Columns of one line number.
    pub digits: usize,
}

impl PageLayout {
    /// Lays an item out in `width` columns; without a body only what is known of it.
    pub fn new(item: &Item, diff_view: Option<&DiffView>, width: usize) -> Self {
        let mut page = Self::default();
        page.name(&item.path, width);
        page.facts(&item.facts, width);
        page.facts(diff_view.map_or(&[], |diff_view| &diff_view.words), width);
        for finding in item.findings.iter() {
            page.finding(finding, "", width);
        }
        if let Some(words) = status(item) {
            page.status(&words, width);
        }
        page.hunks(diff_view, width);
        page
    }

    /// Adds a name, cut in the middle if it is long.
    pub(super) fn name(&mut self, name: &str, width: usize) {
        let names = text::name_rows(name, width, 3).into_iter();
        self.rows.extend(names.map(PageRow::Name));
    }

    /// Adds what is to be said besides contents.
    pub(super) fn facts(&mut self, facts: &[String], width: usize) {
        let lines = facts.iter().flat_map(|fact| text::fill(fact, width));
        self.rows.extend(lines.map(PageRow::Fact));
    }

    /// Adds findings with the paths that they are about.
    pub(super) fn findings_at(&mut self, findings: &ItemFindings, width: usize) {
        for finding in findings.iter() {
            self.finding(finding, &format!(" {}", finding.subject), width);
        }
    }

    /// Adds a finding; `place` is what stands before its line.
    fn finding(&mut self, finding: &Finding, place: &str, width: usize) {
        let line = match (finding.line, place) {
            (Some(line), _) => format!("{place} line {line}:"),
            (None, "") => String::new(),
            (None, place) => format!("{place}:"),
        };
        let (severity, code) = (finding.severity, &finding.code);
        let said = format!("{severity} {code}:{line} {}", finding.message);
        let hint = finding.hint.as_ref().map(|hint| format!("  {hint}"));
        for text in [Some(said), hint].into_iter().flatten() {
            let lines = text::fill(&text, width).into_iter();
            self.rows
                .extend(lines.map(|line| PageRow::Finding(severity, line)));
        }
    }

    /// Adds why something stays, or that it was allowed.
    pub(super) fn status(&mut self, words: &str, width: usize) {
        let lines = text::fill(words, width).into_iter();
        self.rows.extend(lines.map(PageRow::Status));
    }

    /// Adds what is said of the contents, and their lines.
    pub(super) fn body(&mut self, diff_view: Option<&DiffView>, width: usize) {
        if let Some(diff_view) = diff_view {
            self.facts(&diff_view.words, width);
        }
        self.hunks(diff_view, width);
    }

    /// Adds the hunks, below the files that they are of where there are several.
    fn hunks(&mut self, diff_view: Option<&DiffView>, width: usize) {
        let Some(diff_view) = diff_view else {
            return;
        };
        self.digits = diff_view.last_line().max(1).ilog10() as usize + 1;
        let room = self.room(width);
        let mut files = diff_view.files.iter().peekable();
        for (hunk, lines) in diff_view.hunks.iter().map(|hunk| &hunk.lines).enumerate() {
            while let Some(file) = files.next_if(|file| file.hunk <= hunk) {
                self.file(file, width);
            }
            self.rows.push(PageRow::Blank);
            let start = self.rows.len();
            self.rows.push(PageRow::Head(hunk));
            for (line, shown) in lines.iter().enumerate() {
                let parts = text::rows(&shown.pieces, room);
                self.rows
                    .extend((0..parts).map(|part| PageRow::Line { hunk, line, part }));
                if shown.unterminated {
                    self.rows.push(PageRow::Unterminated);
                }
            }
            self.heads.push(start);
            self.ends.push(self.rows.len() - 1);
        }
        for file in files {
            self.file(file, width);
        }
    }

    fn file(&mut self, file: &FileHead, width: usize) {
        self.rows.push(PageRow::Blank);
        let name = format!("{} {}", file.sign.as_str(), file.path);
        self.name(&name, width);
        self.facts(&file.words, width);
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
        let (start, end) = (*self.heads.get(hunk)?, *self.ends.get(hunk)?);
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
