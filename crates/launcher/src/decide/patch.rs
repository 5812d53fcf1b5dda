//! The contents of a change as text: a unified diff, inert on a terminal.

use lazaret_gate::case::Case;
use lazaret_gate::export::lines::{Compared, Ending, Sign};
use lazaret_gate::export::side::{ContentsError, Side, counts, nature};
use lazaret_tree::{Change, Entry, escape};

use crate::ui::{Tone, Ui, elide};

/// One line, escaped, and what colour it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The colour; none for a line of context.
    pub tone: Option<Tone>,
    /// The text, without a line feed.
    pub text: String,
}

impl Line {
    fn new(tone: impl Into<Option<Tone>>, text: impl Into<String>) -> Self {
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
    let strong = |text: String| Line::new(Tone::Strong, text);
    let mut lines = match (&change.before, &change.after) {
        (None, _) => vec![strong(format!("+++ {path} (new)"))],
        (_, None) => vec![strong(format!("--- {path} (deleted)"))],
        _ => vec![strong(format!("--- {path}")), strong(format!("+++ {path}"))],
    };
    if let (Some(before), Some(after)) = (&change.before, &change.after)
        && let Some(words) = nature(before, after)
    {
        lines.push(Line::new(Tone::Warning, format!("  {words}")));
    }
    let words = |text: String| Line::new(None, text);
    let (old, new) = Side::both(case, change)?;
    match (&old, &new) {
        (Side::Absent, Side::Words(only)) | (Side::Words(only), Side::Absent) => {
            lines.push(words(format!("  {only}")));
        }
        (Side::Words(old), Side::Words(new)) if old == new => {}
        (Side::Words(old), Side::Words(new)) => {
            lines.push(words(format!("  was {old}")));
            lines.push(words(format!("  now {new}")));
        }
        (Side::Words(old), Side::Text(_)) => lines.push(words(format!("  was {old}"))),
        (Side::Text(_), Side::Words(new)) => lines.push(words(format!("  now {new}"))),
        (Side::Absent | Side::Text(_), Side::Absent | Side::Text(_)) => {}
    }
    let (old, new) = (old.as_text().as_bytes(), new.as_text().as_bytes());
    for hunk in Compared::new(old, new).hunks() {
        lines.push(Line::new(Tone::Hint, hunk.header()));
        for line in &hunk.lines {
            let tone = match line.sign {
                Sign::Same => None,
                Sign::Added => Some(Tone::Good),
                Sign::Removed => Some(Tone::Removed),
            };
            let text = format!("{}{}", line.sign.as_char(), inert(line.bytes));
            lines.push(Line { tone, text });
            if line.ending == Ending::EndOfText {
                lines.push(Line::new(Tone::Dim, "\\ no newline at the end"));
            }
        }
    }
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
    let numbers = match counts(case, change)? {
        Some(counts) => format!(
            "{} {}",
            ui.paint_result(Tone::Good, &format!("{:>6}", format!("+{}", counts.added))),
            ui.paint_result(
                Tone::Removed,
                &format!("{:>6}", format!("-{}", counts.removed))
            ),
        ),
        None => format!("{:>13}", sort(change)),
    };
    let path = escape(change.path.as_str().as_bytes());
    let path = elide(&path, ui.width().saturating_sub(20).max(20));
    Ok(format!("  {sign} {numbers}  {path}"))
}

/// Says in a word what has no lines to count.
fn sort(change: &Change) -> &'static str {
    match (&change.before, &change.after) {
        (_, Some(Entry::Dir)) | (Some(Entry::Dir), None) => "directory",
        (_, Some(Entry::Symlink { .. })) | (Some(Entry::Symlink { .. }), None) => "link",
        _ => "no text",
    }
}

/// Escapes a line of text; tabs stay, they do nothing but move to the right.
fn inert(line: &[u8]) -> String {
    let parts: Vec<String> = line.split(|&byte| byte == b'\t').map(escape).collect();
    parts.join("\t")
}
