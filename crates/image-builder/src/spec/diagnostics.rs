//! Where in a declaration something is wrong.

use std::ops::Range;

use lazaret_tree::escape;

/// A declaration of an image or a component that can't be used.
///
/// The message shows the line, what is wrong there, and what is expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct SpecError {
    /// The file, as the user knows it.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong, with the offending line quoted.
    pub message: String,
}

/// Makes an error that quotes the first line of `span` and marks the place.
pub(crate) fn refusal(file: &str, source: &str, span: Range<usize>, message: &str) -> SpecError {
    let before = source.get(..span.start).unwrap_or(source);
    let line = 1 + before.matches('\n').count();
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let text = source
        .get(line_start..)
        .unwrap_or_default()
        .lines()
        .next()
        .unwrap_or_default();
    let indent = before.get(line_start..).unwrap_or_default().chars().count();
    let marked = source
        .get(span)
        .unwrap_or_default()
        .lines()
        .next()
        .unwrap_or_default();
    let number = line.to_string();
    let gutter = " ".repeat(number.len());
    let marks = "^".repeat(marked.chars().count().max(1));
    SpecError {
        file: file.to_owned(),
        line,
        message: format!(
            "{message}\n{gutter} |\n{number} | {}\n{gutter} | {}{marks}",
            escape(text.as_bytes()),
            " ".repeat(indent),
        ),
    }
}
