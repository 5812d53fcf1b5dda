//! Hunks: the parts of a file's change that can be taken one by one.

use std::collections::BTreeSet;

use similar::{ChangeTag, DiffTag, TextDiff};

/// Unchanged lines around a change; changes closer than twice this are one hunk.
const CONTEXT: usize = 3;

/// One part of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// `@@ -3,7 +3,7 @@`, as in a unified diff.
    pub header: String,
    /// The lines, those around the change included.
    pub lines: Vec<Line>,
}

/// One line of a hunk, as it is in the file: escape it before it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// On which side it is.
    pub kind: LineKind,
    /// The line without its newline; a carriage return at its end is part of it.
    pub text: String,
    /// Whether a newline ends it; only the last line of a file can be without.
    pub newline: bool,
}

/// On which side a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// On both.
    Context,
    /// Before only.
    Removed,
    /// After only.
    Added,
}

/// Splits the change from `old` to `new` into hunks, in order.
pub fn split(old: &str, new: &str) -> Vec<Hunk> {
    let diff = TextDiff::from_lines(old, new);
    let mut unified = diff.unified_diff();
    let hunks = unified.context_radius(CONTEXT).iter_hunks();
    hunks
        .map(|hunk| Hunk {
            header: hunk.header().to_string(),
            lines: hunk.iter_changes().map(|change| line(&change)).collect(),
        })
        .collect()
}

fn line(change: &similar::Change<&str>) -> Line {
    let text = change.value();
    let kind = match change.tag() {
        ChangeTag::Equal => LineKind::Context,
        ChangeTag::Delete => LineKind::Removed,
        ChangeTag::Insert => LineKind::Added,
    };
    Line {
        kind,
        text: text.strip_suffix('\n').unwrap_or(text).to_owned(),
        newline: text.ends_with('\n'),
    }
}

/// Makes the text that has the chosen hunks of the change from `old` to `new`, by their
/// index in [`split`], and is as `old` everywhere else.
pub fn choose(old: &str, new: &str, chosen: &BTreeSet<usize>) -> String {
    let diff = TextDiff::from_lines(old, new);
    // Which hunk each change belongs to, in order: both lists hold the same changes.
    let groups = diff.grouped_ops(CONTEXT);
    let mut owners = groups.iter().enumerate().flat_map(|(index, group)| {
        let changes = group.iter().filter(|op| op.tag() != DiffTag::Equal);
        changes.map(move |_| index)
    });
    let mut text = String::with_capacity(old.len().max(new.len()));
    for op in diff.ops() {
        let is_taken = op.tag() != DiffTag::Equal
            && owners.next().is_some_and(|owner| chosen.contains(&owner));
        match is_taken {
            true => text.extend(op.new_range().filter_map(|index| diff.new_slice(index))),
            false => text.extend(op.old_range().filter_map(|index| diff.old_slice(index))),
        }
    }
    text
}
