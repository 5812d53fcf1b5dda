//! The contents of a change as text: a unified diff, inert on a terminal.

use lazaret_gate::case::Case;
use lazaret_gate::file_diff::LineKind;
use lazaret_gate::file_side::{
    ContentsError, FileSides, kind_without_lines, line_counts, mode_or_type_change,
};
use lazaret_gate::three_sides::Side;
use lazaret_tree::{Change, escape};

use crate::ui::{TextTone, Ui, elide};

/// One line, escaped, and what colour it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The colour; none for a line of context.
    pub tone: Option<TextTone>,
    /// The text, without a line feed.
    pub text: String,
}

impl Line {
    fn new(tone: impl Into<Option<TextTone>>, text: impl Into<String>) -> Self {
        Self {
            tone: tone.into(),
            text: text.into(),
        }
    }
}

/// Renders one change without colours. Every line that came out of the container is escaped.
///
/// # Errors
/// When the quarantine can't be read.
pub fn render(case: &Case, change: &Change) -> Result<String, ContentsError> {
    let lines = lines(case, change)?;
    Ok(lines.into_iter().map(|line| line.text + "\n").collect())
}

/// Renders one change for stdout, in colours where it has them.
///
/// # Errors
/// When the quarantine can't be read.
pub fn painted(case: &Case, change: &Change, ui: &Ui) -> Result<String, ContentsError> {
    let lines: Vec<String> = lines(case, change)?
        .into_iter()
        .map(|line| match line.tone {
            Some(tone) => ui.paint_result(tone, &line.text),
            None => line.text,
        })
        .collect();
    Ok(lines.join("\n"))
}

/// Renders one change as lines, escaped.
///
/// # Errors
/// When the quarantine can't be read.
pub fn lines(case: &Case, change: &Change) -> Result<Vec<Line>, ContentsError> {
    let path = escape(change.path.as_str().as_bytes());
    let strong = |text: String| Line::new(TextTone::Strong, text);
    let mut lines = match (&change.before, &change.after) {
        (None, _) => vec![strong(format!("+++ {path} (new)"))],
        (_, None) => vec![strong(format!("--- {path} (deleted)"))],
        _ => vec![strong(format!("--- {path}")), strong(format!("+++ {path}"))],
    };
    if let (Some(before), Some(after)) = (&change.before, &change.after)
        && let Some(words) = mode_or_type_change(before, after)
    {
        lines.push(Line::new(TextTone::Warning, format!("  {words}")));
    }
    let sides = FileSides::read(case, change)?;
    if sides.old != sides.new {
        let words = sides.descriptions().into_iter();
        lines.extend(words.map(|words| Line::new(None, format!("  {words}"))));
    }
    for hunk in sides.diff().hunks() {
        lines.push(Line::new(TextTone::Hint, hunk.header()));
        for line in &hunk.lines {
            let tone = match line.kind {
                LineKind::Context => None,
                LineKind::Added => Some(TextTone::Good),
                LineKind::Removed => Some(TextTone::Removed),
            };
            let text = format!("{}{}", line.kind.as_char(), inert(line.bytes));
            lines.push(Line { tone, text });
            if !line.has_newline {
                lines.push(Line::new(TextTone::Dim, "\\ no newline at the end"));
            }
        }
    }
    let sides = case.three_sides(change)?.into_iter();
    lines.extend(sides.map(|line| {
        let tone = match line.side {
            Side::Heading => TextTone::Hint,
            Side::Yours => TextTone::Good,
            Side::Base => TextTone::Dim,
            Side::Theirs => TextTone::Warning,
        };
        Line::new(tone, line.text)
    }));
    Ok(lines)
}

/// Renders one change as one line: its sign, its name, and how many lines came and went.
///
/// # Errors
/// When the quarantine can't be read.
pub fn stat(case: &Case, change: &Change, ui: &Ui) -> Result<String, ContentsError> {
    let sign = match (&change.before, &change.after) {
        (None, _) => '+',
        (_, None) => '-',
        _ => '~',
    };
    let numbers = match line_counts(case, change)? {
        Some(counts) => format!(
            "{} {}",
            ui.paint_result(
                TextTone::Good,
                &format!("{:>6}", format!("+{}", counts.added))
            ),
            ui.paint_result(
                TextTone::Removed,
                &format!("{:>6}", format!("-{}", counts.removed))
            ),
        ),
        None => format!("{:>13}", kind_without_lines(change)),
    };
    let path = escape(change.path.as_str().as_bytes());
    let path = elide(&path, ui.width().saturating_sub(20).max(20));
    Ok(format!("  {sign} {numbers}  {path}"))
}

/// Escapes a line of text; tabs stay, they do nothing but move to the right.
fn inert(line: &[u8]) -> String {
    let parts: Vec<String> = line.split(|&byte| byte == b'\t').map(escape).collect();
    parts.join("\t")
}
