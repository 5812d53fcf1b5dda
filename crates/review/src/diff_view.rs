//! `DiffView`: what is shown of an item's contents, line by line.

use lazaret_gate::file_diff::{self, FileDiff, LineCounts, LineKind};
use similar::{Algorithm, ChangeTag, TextDiff};

use super::item::Sign;
use super::text::{Piece, Pieces, TextStyle};

/// Lines above this many bytes are not compared word by word: it would take too long.
const LONGEST_COMPARED: usize = 4096;

/// Changes of more lines than this are not compared word by word.
const MOST_COMPARED: usize = 400;
/// Lines that have fewer words in common than this are no versions of each other.
const LEAST_ALIKE: f32 = 0.5;
/// How far the new version of a line is looked for.
const FURTHEST: usize = 8;

/// A line of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// In which version it is.
    pub kind: LineKind,
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
pub struct DiffView {
    /// What is said instead of lines, or besides them: `binary, 12 bytes, blake3 …`.
    pub words: Vec<String>,
    /// The lines that changed.
    pub hunks: Vec<Hunk>,
    /// The files that they are in, where there are several.
    pub files: Vec<FileHead>,
    /// Whether hunks can be chosen.
    pub parts: Parts,
}

/// A file among several, above its hunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHead {
    /// The first of its hunks, counted from 0 among those of all files.
    pub hunk: usize,
    /// What happened.
    pub sign: Sign,
    /// The escaped path.
    pub path: String,
    /// What is said instead of lines, or besides them.
    pub words: Vec<String>,
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

impl DiffView {
    /// Says something instead of lines.
    pub fn of_words(words: Vec<String>) -> Self {
        Self {
            words,
            ..Self::default()
        }
    }

    /// Compares two texts. The hunks are those of [`FileDiff`], in the same order.
    pub fn compare(old: &str, new: &str) -> Self {
        let diff = FileDiff::new(old, new);
        let hunks = diff.hunks().map(|hunk| Hunk {
            header: hunk.header(),
            lines: lines(&hunk.lines),
        });
        Self {
            words: Vec::new(),
            hunks: hunks.collect(),
            files: Vec::new(),
            parts: Parts::Hunks,
        }
    }

    /// Counts the lines that were added and removed.
    pub fn counts(&self) -> LineCounts {
        let lines = self.hunks.iter().flat_map(|hunk| &hunk.lines);
        let count = |kind| lines.clone().filter(|line| line.kind == kind).count() as u64;
        LineCounts {
            added: count(LineKind::Added),
            removed: count(LineKind::Removed),
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

/// Where lines replace others, finds those that are versions of each other and sets off the
/// words that differ.
fn lines(compared: &[file_diff::Line<'_>]) -> Vec<Line> {
    let is_context = |line: &file_diff::Line<'_>| line.kind == LineKind::Context;
    let runs = compared.chunk_by(|a, b| is_context(a) == is_context(b));
    let mut lines = Vec::with_capacity(compared.len());
    for run in runs {
        let texts: Vec<_> = run
            .iter()
            .map(|line| String::from_utf8_lossy(line.bytes))
            .collect();
        let start = lines.len();
        let plain = run.iter().zip(&texts);
        lines.extend(plain.map(|(of, text)| line(of, [(text.as_ref(), TextStyle::Plain)])));
        if run.len() > MOST_COMPARED {
            continue;
        }
        let removed = run.partition_point(|line| line.kind == LineKind::Removed);
        let (old, new) = texts.split_at(removed);
        for (old_at, new_at) in pairs(old, new) {
            let words = TextDiff::configure()
                .algorithm(Algorithm::Patience)
                .diff_unicode_words(&*old[old_at], &*new[new_at]);
            if words.ratio() < LEAST_ALIKE {
                continue;
            }
            let version = |other: ChangeTag| {
                let words = words.iter_all_changes();
                let own = words.filter(move |word| word.tag() != other);
                own.map(|word| match word.tag() {
                    ChangeTag::Equal => (word.value(), TextStyle::Plain),
                    ChangeTag::Delete | ChangeTag::Insert => (word.value(), TextStyle::Changed),
                })
            };
            let new_at = removed + new_at;
            lines[start + old_at] = line(&run[old_at], version(ChangeTag::Insert));
            lines[start + new_at] = line(&run[new_at], version(ChangeTag::Delete));
        }
    }
    lines
}

/// Finds lines that are versions of each other, in order: for each old one the first new
/// one that is like it, among the next few.
fn pairs(old: &[impl AsRef<str>], new: &[impl AsRef<str>]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut start = 0;
    for (index, old) in old.iter().enumerate() {
        let mut candidates = (start..new.len()).take(FURTHEST);
        if let Some(found) = candidates.find(|at| are_alike(old.as_ref(), new[*at].as_ref())) {
            pairs.push((index, found));
            start = found + 1;
        }
    }
    pairs
}

fn are_alike(old: &str, new: &str) -> bool {
    let is_short = |line: &str| line.len() <= LONGEST_COMPARED;
    is_short(old) && is_short(new) && {
        TextDiff::from_unicode_words(old.trim(), new.trim()).ratio() >= LEAST_ALIKE
    }
}

fn line<'a>(
    of: &file_diff::Line<'_>,
    parts: impl IntoIterator<Item = (&'a str, TextStyle)>,
) -> Line {
    let mut pieces = Pieces::default();
    for (text, text_style) in parts {
        pieces.push(text, text_style);
    }
    Line {
        kind: of.kind,
        old: of.old,
        new: of.new,
        pieces: pieces.finish(),
        unterminated: !of.has_newline,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(old: &str, new: &str) -> String {
        let diff_view = DiffView::compare(old, new);
        let mut text = String::new();
        for hunk in &diff_view.hunks {
            text.push_str(&format!("{}\n", hunk.header));
            for line in &hunk.lines {
                let number = |n: Option<usize>| n.map_or(String::new(), |n| n.to_string());
                let tag = line.kind.as_char();
                let pieces = line.pieces.iter().map(|piece| match piece.text_style {
                    TextStyle::Plain => piece.text.clone(),
                    TextStyle::Changed => format!("*{}*", piece.text),
                    TextStyle::Escaped => format!("<{}>", piece.text),
                    TextStyle::Tab => format!("[{}]", piece.text),
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
        let diff_view = DiffView::compare(&old, &new);
        let headers: Vec<_> = diff_view.hunks.iter().map(|hunk| &hunk.header).collect();
        assert_eq!(headers, ["@@ -1,6 +1,6 @@", "@@ -22,7 +22,6 @@"]);
        assert_eq!(
            diff_view.counts(),
            LineCounts {
                added: 1,
                removed: 2
            }
        );
        assert_eq!(diff_view.last_line(), 28);
    }

    #[test]
    fn a_line_of_a_megabyte_is_no_trouble() {
        let (old, new) = ("a b ".repeat(1 << 18), "b a ".repeat(1 << 18));
        let diff_view = DiffView::compare(&old, &new);
        assert_eq!(diff_view.hunks[0].lines.len(), 2);
    }
}
