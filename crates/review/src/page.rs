//! `Page`: the rows of the diff pane, for one item at one width.

use lazaret_validator::Severity;

use super::diff_view::Body;
use super::item::{Allowance, Item, Mark, Standing, Why};
use super::text;

/// A row of the diff pane. Lines of the diff are named, and broken again when they are drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageRow {
    /// A part of the path.
    Name(String),
    /// What is to be said besides the contents.
    Fact(String),
    /// A part of a finding.
    Remark(Severity, String),
    /// Why the item stays, or that it was allowed.
    Standing(String),
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
pub struct Page {
    /// All of them.
    pub rows: Vec<PageRow>,
    /// The row of each hunk's head.
    pub heads: Vec<usize>,
    /// Columns of one line number.
    pub digits: usize,
}

impl Page {
    /// Lays an item out in `width` columns; without a body only what is known of it.
    pub fn new(item: &Item, body: Option<&Body>, width: usize) -> Self {
        let mut page = Self::default();
        let rows = &mut page.rows;
        rows.extend(
            text::name_rows(&item.path, width, 3)
                .into_iter()
                .map(PageRow::Name),
        );
        let words = body.into_iter().flat_map(|body| &body.words);
        for fact in item.facts.iter().chain(words) {
            rows.extend(text::fill(fact, width).into_iter().map(PageRow::Fact));
        }
        for remark in item.remarks.iter() {
            let place = remark
                .line
                .map_or(String::new(), |line| format!(" line {line}:"));
            let (severity, code) = (remark.severity, &remark.code);
            let said = format!("{severity} {code}:{place} {}", remark.message);
            let hint = remark.hint.as_ref().map(|hint| format!("  {hint}"));
            for text in [Some(said), hint].into_iter().flatten() {
                let lines = text::fill(&text, width).into_iter();
                rows.extend(lines.map(|line| PageRow::Remark(severity, line)));
            }
        }
        if let Some(words) = standing(item) {
            rows.extend(text::fill(&words, width).into_iter().map(PageRow::Standing));
        }
        let Some(body) = body else {
            return page;
        };
        page.digits = body.last_line().max(1).ilog10() as usize + 1;
        let room = page.room(width);
        for (hunk, lines) in body.hunks.iter().map(|hunk| &hunk.lines).enumerate() {
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

fn standing(item: &Item) -> Option<String> {
    match (&item.standing, item.allowance) {
        (Standing::Free, _) => None,
        (Standing::Blocked, Allowance::None) => {
            Some("Stays in the copy. Press ! to allow it by name.".to_owned())
        }
        (Standing::Blocked, Allowance::Once) => {
            Some("Allowed by you, for this apply. Press ! to take that back.".to_owned())
        }
        (Standing::Blocked, Allowance::Remembered) => Some(
            "Allowed by you, for these contents from now on. Press ! to take that back.".to_owned(),
        ),
        (Standing::Conflict(what), Allowance::None) => Some(format!(
            "Conflict: it {what}, and the two don't fit together. Press ! to have yours replaced."
        )),
        (Standing::Conflict(_), Allowance::Once | Allowance::Remembered) => Some(
            "Your version will be replaced; an undo brings it back. Press ! to take that back."
                .to_owned(),
        ),
        (Standing::Stays(why @ (Why::Depends(_) | Why::Moved(_))), _) => {
            Some(format!("Stays in the copy: {why}, which stays"))
        }
        (Standing::Stays(why), _) => Some(format!("Stays in the copy: {why}")),
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
        let body = Body::compare(&old, &new);
        let page = Page::new(&item(Sign::Modified, "a"), Some(&body), 40);
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
