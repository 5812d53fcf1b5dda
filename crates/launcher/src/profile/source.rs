//! `Source`: the text of a profile, and errors that point into it.

use std::ops::Range;

use lazaret_tree::escape;

use super::raw::RawProfile;

/// What is wrong in a profile, and where. Its text holds what the file says, raw.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}\n{excerpt}")]
pub struct ProfileError {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// What was found and what is expected.
    pub message: String,
    /// The line itself with the place marked, as two lines.
    pub excerpt: String,
}

impl ProfileError {
    /// Points at a place of another file than a profile.
    pub(crate) fn at(file: &str, text: &str, span: &Range<usize>, message: &str) -> Self {
        Source { file, text }.error(span, message)
    }

    /// Says what the TOML reader found in another file than a profile.
    pub(crate) fn of_toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let message = in_toml_words(error.message());
        Self::at(file, text, &error.span().unwrap_or_default(), &message)
    }
}

/// A profile's text.
#[derive(Debug)]
pub(super) struct Source<'a> {
    /// The file, as it was named.
    pub(super) file: &'a str,
    /// Its contents.
    pub(super) text: &'a str,
}

impl Source<'_> {
    /// Reads the TOML.
    pub(super) fn parse(&self) -> Result<RawProfile, ProfileError> {
        toml::from_str(self.text).map_err(|error| {
            self.error(
                &error.span().unwrap_or_default(),
                &in_toml_words(error.message()),
            )
        })
    }

    /// Points at a place.
    pub(super) fn error(&self, span: &Range<usize>, message: &str) -> ProfileError {
        let start = self.text.floor_char_boundary(span.start);
        let before = &self.text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = self.text[line_start..].lines().next().unwrap_or_default();
        let number = before.matches('\n').count() + 1;
        let column = before[line_start..].chars().count() + 1;

        let end = self.text.floor_char_boundary(span.end.max(start));
        let marked = self.text[start..end]
            .lines()
            .next()
            .map_or(1, |text| text.chars().count().max(1));
        let margin = " ".repeat(number.to_string().len());
        let mut excerpt = format!("{number} | {line}");
        // Escapes would shift the mark, a long line would wrap around it.
        if escape(line.as_bytes()) == line && line.chars().count() <= 100 {
            let marks = "^".repeat(marked);
            excerpt.push_str(&format!(
                "\n{margin} | {:>width$}{marks}",
                "",
                width = column - 1
            ));
        }
        ProfileError {
            file: self.file.to_owned(),
            line: number,
            column,
            message: message.to_owned(),
            excerpt,
        }
    }
}

/// Says in the words of TOML what serde says in its own.
fn in_toml_words(message: &str) -> String {
    // A syntax error says "what" and "expected what" on two lines.
    let message = message.trim().replace('\n', ", ");
    let words = [
        ("unknown field ", "unknown key "),
        ("unknown variant ", "found "),
        ("invalid type: ", "found "),
        ("invalid value: ", "found "),
        ("missing field ", "missing key "),
    ];
    let message = words
        .iter()
        .find_map(|(serde, toml)| Some(format!("{toml}{}", message.strip_prefix(serde)?)))
        .unwrap_or(message);
    match message.strip_suffix("expected a sequence") {
        Some(start) => format!("{start}expected an array"),
        None => match message.strip_suffix("expected a map") {
            Some(start) => format!("{start}expected a table"),
            None => message,
        },
    }
}
