//! `Body`: what is shown of an item's contents, line by line.

use std::ops::Range;

use similar::{ChangeTag, DiffOp, DiffTag, TextDiff};

use super::item::Tally;
use super::text::{Piece, Pieces, Shade};

/// Lines above this many bytes are not compared word by word: it would take too long.
const LONGEST_COMPARED: usize = 4096;

/// Changes of more lines than this are not compared word by word.
const MOST_COMPARED: usize = 400;
/// How far the new version of a line is looked for.
const FURTHEST: usize = 8;

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// In both versions.
    Same,
    /// Only in the old one.
    Removed,
    /// Only in the new one.
    Added,
}

/// A line of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What became of it.
    pub tag: Tag,
    /// Its number in the old version, counted from 1.
    pub old: Option<usize>,
    /// Its number in the new version, counted from 1.
    pub new: Option<usize>,
    /// Its text.
    pub pieces: Vec<Piece>,
    /// Whether the file ends here without a line feed.
    pub unterminated: bool,
}

/// Lines that changed together, with what is around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// `@@ -1,5 +1,7 @@`, as in a unified diff.
    pub header: String,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// What is shown of an item's contents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Body {
    /// What is said instead of lines, or besides them: `binary, 12 bytes, blake3 …`.
    pub words: Vec<String>,
    /// The lines that changed.
    pub hunks: Vec<Hunk>,
    /// Whether hunks can be chosen.
    pub parts: Parts,
}

/// Whether parts of a change can be chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Parts {
    /// Each hunk by itself.
    Hunks,
    /// Only all of it.
    #[default]
    Whole,
}

impl Body {
    /// Says something instead of lines.
    pub fn of_words(words: Vec<String>) -> Self {
        Self {
            words,
            ..Self::default()
        }
    }

    /// Compares two texts. The hunks are those of [`lazaret_gate::hunks`], in the same order.
    pub fn compare(old: &str, new: &str) -> Self {
        let diff = TextDiff::from_lines(old, new);
        let hunks = diff
            .grouped_ops(3)
            .iter()
            .map(|ops| hunk(&diff, ops))
            .collect();
        Self {
            words: Vec::new(),
            hunks,
            parts: Parts::Hunks,
        }
    }

    /// Counts the lines that came and went.
    pub fn tally(&self) -> Tally {
        if self.hunks.is_empty() {
            return Tally::None;
        }
        let count = |tag| {
            let lines = self.hunks.iter().flat_map(|hunk| &hunk.lines);
            let number = lines.filter(|line| line.tag == tag).count();
            u32::try_from(number).unwrap_or(u32::MAX)
        };
        Tally::Lines {
            added: count(Tag::Added),
            removed: count(Tag::Removed),
        }
    }

    /// Returns the highest line number.
    pub fn last_line(&self) -> usize {
        let lines = self.hunks.iter().flat_map(|hunk| hunk.lines.iter().rev());
        lines
            .map(|line| line.old.max(line.new).unwrap_or(0))
            .max()
            .unwrap_or(0)
    }
}

fn hunk(diff: &TextDiff<'_, '_, str>, ops: &[DiffOp]) -> Hunk {
    let lines = ops.iter().flat_map(|op| op_lines(diff, op)).collect();
    let span = |range: fn(&DiffOp) -> Range<usize>| {
        let start = ops.first().map_or(0, |op| range(op).start);
        let end = ops.last().map_or(0, |op| range(op).end);
        // As in every unified diff: an empty range is named by the line before it.
        match end - start {
            0 => format!("{start},0"),
            1 => format!("{}", start + 1),
            number => format!("{},{number}", start + 1),
        }
    };
    let (old, new) = (span(DiffOp::old_range), span(DiffOp::new_range));
    Hunk {
        header: format!("@@ -{old} +{new} @@"),
        lines,
    }
}

fn op_lines(diff: &TextDiff<'_, '_, str>, op: &DiffOp) -> Vec<Line> {
    let changes: Vec<_> = diff.iter_changes(op).collect();
    let mut lines: Vec<Line> = changes
        .iter()
        .map(|change| {
            let at = (change.old_index(), change.new_index());
            line(change.tag(), at, [(false, change.value())])
        })
        .collect();
    if op.tag() == DiffTag::Replace && changes.len() <= MOST_COMPARED {
        let removed = op.old_range().len();
        let text = |index: usize| changes[index].value();
        for (old, new) in pairs(0..removed, removed..changes.len(), text) {
            let words = TextDiff::from_lines(text(old), text(new));
            for change in words
                .ops()
                .iter()
                .flat_map(|op| words.iter_inline_changes(op))
            {
                let index = match change.tag() {
                    ChangeTag::Delete => old,
                    ChangeTag::Insert | ChangeTag::Equal => new,
                };
                let at = (changes[index].old_index(), changes[index].new_index());
                lines[index] = line(change.tag(), at, change.values().iter().copied());
            }
        }
    }
    lines
}

/// Finds lines that are versions of each other, in order: for each old one the first new
/// one that is like it, among the next few.
fn pairs<'a>(
    old: Range<usize>,
    mut new: Range<usize>,
    text: impl Fn(usize) -> &'a str,
) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for old in old {
        let mut candidates = new.clone().take(FURTHEST);
        if let Some(found) = candidates.find(|new| are_alike(text(old), text(*new))) {
            pairs.push((old, found));
            new.start = found + 1;
        }
    }
    pairs
}

fn are_alike(old: &str, new: &str) -> bool {
    let is_short = |line: &str| line.len() <= LONGEST_COMPARED;
    is_short(old) && is_short(new) && {
        TextDiff::from_unicode_words(old.trim(), new.trim()).ratio() >= 0.5
    }
}

fn line<'a>(
    tag: ChangeTag,
    (old, new): (Option<usize>, Option<usize>),
    parts: impl IntoIterator<Item = (bool, &'a str)>,
) -> Line {
    let mut pieces = Pieces::default();
    let mut end = None;
    for (is_emphasised, text) in parts {
        let shade = if is_emphasised {
            Shade::Changed
        } else {
            Shade::Plain
        };
        end = text.chars().last().or(end);
        pieces.push(text.strip_suffix('\n').unwrap_or(text), shade);
    }
    Line {
        tag: match tag {
            ChangeTag::Equal => Tag::Same,
            ChangeTag::Delete => Tag::Removed,
            ChangeTag::Insert => Tag::Added,
        },
        old: old.map(|index| index + 1),
        new: new.map(|index| index + 1),
        pieces: pieces.finish(),
        unterminated: !matches!(end, Some('\n' | '\r')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(old: &str, new: &str) -> String {
        let body = Body::compare(old, new);
        let mut text = String::new();
        for hunk in &body.hunks {
            text.push_str(&format!("{}\n", hunk.header));
            for line in &hunk.lines {
                let number = |n: Option<usize>| n.map_or(String::new(), |n| n.to_string());
                let tag = match line.tag {
                    Tag::Same => ' ',
                    Tag::Removed => '-',
                    Tag::Added => '+',
                };
                let pieces = line.pieces.iter().map(|piece| match piece.shade {
                    Shade::Plain => piece.text.clone(),
                    Shade::Changed => format!("*{}*", piece.text),
                    Shade::Escaped => format!("<{}>", piece.text),
                    Shade::Tab => format!("[{}]", piece.text),
                });
                let pieces: String = pieces.collect();
                let end = if line.unterminated {
                    " (no newline)"
                } else {
                    ""
                };
                let (old, new) = (number(line.old), number(line.new));
                text.push_str(&format!("{old:>2} {new:>2} {tag}{pieces}{end}\n"));
            }
        }
        text
    }

    #[test]
    fn words_that_changed_are_set_off() {
        insta::assert_snapshot!(
            show("a\nlet total = sum(ships);\nz\n", "a\nlet total = sum(all_ships);\nz\n"),
            @r"
        @@ -1,3 +1,3 @@
         1  1  a
         2    -let total = sum(*ships*);
            2 +let total = sum(*all_ships*);
         3  3  z
        "
        );
    }

    #[test]
    fn a_line_is_compared_with_its_new_version() {
        insta::assert_snapshot!(show("a(b);\nsum(x, y);\n", "new line\na(c);\nother\nsum(x, z);\nmore\n"), @"
        @@ -1,2 +1,5 @@
         1    -a(*b*);
         2    -sum(x, *y*);
            1 +new line
            2 +a(*c*);
            3 +other
            4 +sum(x, *z*);
            5 +more
        ");
    }

    #[test]
    fn aud_02_ends_of_files_and_of_lines_are_told_apart() {
        insta::assert_snapshot!(show("a\nb\n", "a\nb"), @r"
        @@ -1,2 +1,2 @@
         1  1  a
         2    -b
            2 +b (no newline)
        ");
        insta::assert_snapshot!(show("a\n", "a\r\n"), @r"
        @@ -1 +1 @@
         1    -a
            1 +a<\u{d}>
        ");
        insta::assert_snapshot!(show("", "new\n"), @r"
        @@ -0,0 +1 @@
            1 +new
        ");
    }

    #[test]
    fn changes_far_apart_are_hunks_of_their_own() {
        let old: String = (1..=30).map(|n| format!("{n}\n")).collect();
        let new = old.replace("\n3\n", "\nthree\n").replace("\n25\n", "\n");
        let body = Body::compare(&old, &new);
        let headers: Vec<_> = body.hunks.iter().map(|hunk| &hunk.header).collect();
        assert_eq!(headers, ["@@ -1,6 +1,6 @@", "@@ -22,7 +22,6 @@"]);
        assert_eq!(
            body.tally(),
            Tally::Lines {
                added: 1,
                removed: 2
            }
        );
        assert_eq!(body.last_line(), 28);
    }

    #[test]
    fn a_line_of_a_megabyte_is_no_trouble() {
        let (old, new) = ("a b ".repeat(1 << 18), "b a ".repeat(1 << 18));
        let body = Body::compare(&old, &new);
        assert_eq!(body.hunks[0].lines.len(), 2);
    }
}
