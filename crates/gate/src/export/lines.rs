//! Two texts, compared line by line.

use std::ops::Range;

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices, group_diff_ops};

/// Lines around a change that stay the same.
const CONTEXT: usize = 3;

/// Two texts and what tells them apart. A line ends with LF and with nothing else; one that
/// has no LF at its end differs from one that has.
#[derive(Debug)]
pub struct Compared<'a> {
    old: Vec<&'a [u8]>,
    new: Vec<&'a [u8]>,
    ops: Vec<DiffOp>,
}

/// How many lines came and went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Lines that are new.
    pub added: u64,
    /// Lines that are gone.
    pub removed: u64,
}

/// A stretch of lines that changed, with those around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk<'a> {
    /// Which lines of the old text, counted from 0.
    pub old: Range<usize>,
    /// Which lines of the new text, counted from 0.
    pub new: Range<usize>,
    /// The lines, in the order of a unified diff.
    pub lines: Vec<Line<'a>>,
}

/// One line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// What happened to it.
    pub sign: Sign,
    /// Its number in the old text, from 1.
    pub old: Option<usize>,
    /// Its number in the new text, from 1.
    pub new: Option<usize>,
    /// The bytes, without the LF.
    pub bytes: &'a [u8],
    /// How it ends.
    pub ending: Ending,
}

/// What happened to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// Nothing.
    Same,
    /// It is gone.
    Removed,
    /// It is new.
    Added,
}

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With a line feed.
    LineFeed,
    /// With the text.
    EndOfText,
}

impl Sign {
    /// Returns the character of a unified diff.
    pub fn as_char(self) -> char {
        match self {
            Self::Same => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

impl<'a> Compared<'a> {
    /// Compares. The work is bounded on texts that have little in common; the result is
    /// always right, and then not always the shortest.
    pub fn new(old: &'a [u8], new: &'a [u8]) -> Self {
        let (old, new) = (split(old), split(new));
        let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
        Self { old, new, ops }
    }

    /// Counts the lines that differ.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for op in &self.ops {
            if op.tag() != DiffTag::Equal {
                counts.removed += op.old_range().len() as u64;
                counts.added += op.new_range().len() as u64;
            }
        }
        counts
    }

    /// Returns the stretches that differ, with three lines around each.
    pub fn hunks(&self) -> impl Iterator<Item = Hunk<'a>> + '_ {
        let groups = match self.counts() {
            Counts {
                added: 0,
                removed: 0,
            } => Vec::new(),
            _ => group_diff_ops(self.ops.clone(), CONTEXT),
        };
        groups.into_iter().map(|group| self.hunk(&group))
    }

    fn hunk(&self, group: &[DiffOp]) -> Hunk<'a> {
        let span = |range: fn(&DiffOp) -> Range<usize>| {
            let start = group.first().map_or(0, |op| range(op).start);
            let end = group.last().map_or(0, |op| range(op).end);
            start..end
        };
        let mut lines = Vec::new();
        for op in group {
            if op.tag() == DiffTag::Equal {
                for (old, new) in op.old_range().zip(op.new_range()) {
                    lines.push(line(Sign::Same, (Some(old), Some(new)), self.new[new]));
                }
                continue;
            }
            for old in op.old_range() {
                lines.push(line(Sign::Removed, (Some(old), None), self.old[old]));
            }
            for new in op.new_range() {
                lines.push(line(Sign::Added, (None, Some(new)), self.new[new]));
            }
        }
        Hunk {
            old: span(DiffOp::old_range),
            new: span(DiffOp::new_range),
            lines,
        }
    }
}

impl Hunk<'_> {
    /// Writes `@@ -1,3 +1,4 @@`.
    pub fn header(&self) -> String {
        // An empty range names the line before it.
        let range = |range: &Range<usize>| match range.len() {
            0 => format!("{},0", range.start),
            1 => format!("{}", range.start + 1),
            length => format!("{},{length}", range.start + 1),
        };
        format!("@@ -{} +{} @@", range(&self.old), range(&self.new))
    }
}

fn split(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|&byte| byte == b'\n').collect()
}

fn line(sign: Sign, (old, new): (Option<usize>, Option<usize>), bytes: &[u8]) -> Line<'_> {
    let (bytes, ending) = match bytes.strip_suffix(b"\n") {
        Some(bytes) => (bytes, Ending::LineFeed),
        None => (bytes, Ending::EndOfText),
    };
    Line {
        sign,
        old: old.map(|index| index + 1),
        new: new.map(|index| index + 1),
        bytes,
        ending,
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn unified(old: &str, new: &str) -> String {
        let compared = Compared::new(old.as_bytes(), new.as_bytes());
        let mut text = String::new();
        for hunk in compared.hunks() {
            text.push_str(&hunk.header());
            text.push('\n');
            for line in hunk.lines {
                let bytes = String::from_utf8_lossy(line.bytes);
                let (sign, ending) = (line.sign.as_char(), line.ending);
                text.push_str(&format!("{sign}{} {ending:?}\n", bytes.escape_debug()));
            }
        }
        text
    }

    #[test]
    fn hunks_have_their_places() {
        assert_snapshot!(unified("", "a\n"), @"
        @@ -0,0 +1 @@
        +a LineFeed
        ");
        assert_snapshot!(unified("a\nb\n", ""), @"
        @@ -1,2 +0,0 @@
        -a LineFeed
        -b LineFeed
        ");
        assert_snapshot!(unified("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\n9"), @"
        @@ -6,4 +6,4 @@
         6 LineFeed
         7 LineFeed
         8 LineFeed
        -9 LineFeed
        +9 EndOfText
        ");
        assert_eq!(unified("same", "same"), "");
        assert_eq!(unified("", ""), "");
    }

    #[test]
    fn aud_06_only_a_line_feed_ends_a_line() {
        assert_snapshot!(unified("a\rb\n", "a\rc\n"), @r"
        @@ -1 +1 @@
        -a\rb LineFeed
        +a\rc LineFeed
        ");
    }

    #[test]
    fn counts_are_those_of_the_hunks() {
        let counts = Compared::new(b"a\nb\nc\n", b"a\nx\ny\nc\n").counts();
        assert_eq!((counts.added, counts.removed), (2, 1));
    }
}
