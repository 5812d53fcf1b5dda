//! `FileDiff`: two versions of a file, compared line by line.
//!
//! The patch, the reports, the review and the choice of hunks all use it, so a hunk is the same
//! everywhere. Lines end where git ends them: at a line feed and nowhere else.

use std::collections::BTreeSet;
use std::ops::Range;

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices, group_diff_ops};

/// Unchanged lines around a change; changes closer than twice this are one hunk.
const CONTEXT: usize = 3;

/// Two versions of a file and what tells them apart. A line without a line feed at its end
/// differs from one that has it.
#[derive(Debug)]
pub struct FileDiff<'a> {
    old: Vec<&'a [u8]>,
    new: Vec<&'a [u8]>,
    ops: Vec<DiffOp>,
}

/// How many lines were added and removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct LineCounts {
    /// Lines only in the new version.
    pub added: u64,
    /// Lines only in the old version.
    pub removed: u64,
}

/// Lines that changed together, with those around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk<'a> {
    /// Which lines of the old version, counted from 0.
    pub old: Range<usize>,
    /// Which lines of the new version, counted from 0.
    pub new: Range<usize>,
    /// The lines, in the order of a unified diff.
    pub lines: Vec<Line<'a>>,
}

/// One line of a hunk, as it is in the file: escape it before it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// In which version it is.
    pub kind: LineKind,
    /// Its number in the old version, from 1.
    pub old: Option<usize>,
    /// Its number in the new version, from 1.
    pub new: Option<usize>,
    /// The bytes, without the line feed.
    pub bytes: &'a [u8],
    /// Whether a line feed ends it; only the last line of a file can be without.
    pub has_newline: bool,
}

/// In which version a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Both.
    Context,
    /// The old one.
    Removed,
    /// The new one.
    Added,
}

impl LineKind {
    /// Returns the character of a unified diff.
    pub fn as_char(self) -> char {
        match self {
            Self::Context => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

impl<'a> FileDiff<'a> {
    /// Compares two versions. The work is bounded on versions that have little in common; the
    /// result is always right, and then not always the shortest.
    pub fn new(old: &'a (impl AsRef<[u8]> + ?Sized), new: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        let (old, new) = (lines(old.as_ref()), lines(new.as_ref()));
        let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
        Self { old, new, ops }
    }

    /// Counts the lines that differ.
    pub fn counts(&self) -> LineCounts {
        let mut counts = LineCounts::default();
        for op in self.ops.iter().filter(|op| is_change(op)) {
            counts.removed += op.old_range().len() as u64;
            counts.added += op.new_range().len() as u64;
        }
        counts
    }

    /// Returns the hunks, in order.
    pub fn hunks(&self) -> impl ExactSizeIterator<Item = Hunk<'a>> + '_ {
        self.groups().into_iter().map(|group| self.hunk(&group))
    }

    /// Makes the file that has the chosen hunks, by their index in [`FileDiff::hunks`], and is
    /// as the old version everywhere else.
    pub fn with_hunks(&self, chosen: &BTreeSet<usize>) -> Vec<u8> {
        let groups = self.groups();
        // Which hunk each change belongs to: both lists hold the same changes, in order.
        let mut owners = groups.iter().enumerate().flat_map(|(index, group)| {
            let changes = group.iter().filter(|op| is_change(op));
            changes.map(move |_| index)
        });
        let mut text = Vec::new();
        for op in &self.ops {
            let is_chosen =
                is_change(op) && owners.next().is_some_and(|owner| chosen.contains(&owner));
            let lines = match is_chosen {
                true => &self.new[op.new_range()],
                false => &self.old[op.old_range()],
            };
            lines.iter().for_each(|line| text.extend_from_slice(line));
        }
        text
    }

    fn groups(&self) -> Vec<Vec<DiffOp>> {
        match self.ops.iter().any(is_change) {
            true => group_diff_ops(self.ops.clone(), CONTEXT),
            false => Vec::new(),
        }
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
                    lines.push(Line::new(self.new[new], Some(old), Some(new)));
                }
                continue;
            }
            let removed = op.old_range();
            lines.extend(removed.map(|old| Line::new(self.old[old], Some(old), None)));
            let added = op.new_range();
            lines.extend(added.map(|new| Line::new(self.new[new], None, Some(new))));
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

impl<'a> Line<'a> {
    fn new(line: &'a [u8], old: Option<usize>, new: Option<usize>) -> Self {
        let bytes = line.strip_suffix(b"\n");
        Self {
            kind: match (old, new) {
                (Some(_), None) => LineKind::Removed,
                (None, Some(_)) => LineKind::Added,
                _ => LineKind::Context,
            },
            old: old.map(|index| index + 1),
            new: new.map(|index| index + 1),
            bytes: bytes.unwrap_or(line),
            has_newline: bytes.is_some(),
        }
    }
}

fn is_change(op: &DiffOp) -> bool {
    op.tag() != DiffTag::Equal
}

fn lines(file: &[u8]) -> Vec<&[u8]> {
    file.split_inclusive(|&byte| byte == b'\n').collect()
}
