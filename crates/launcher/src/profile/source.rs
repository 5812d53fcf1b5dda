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
pub struct Source<'a> {
    /// The file, as it was named.
    pub file: &'a str,
    /// Its contents.
    pub text: &'a str,
}

impl Source<'_> {
    /// Reads the TOML.
    pub(super) fn parse(&self) -> Result<RawProfile, ProfileError> {
        toml::from_str(self.text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            let mut message = in_toml_words(error.message());
            if let Some(unknown) = UnknownKey::of(error.message()) {
                message.push_str(&unknown.meant());
                for (line, also) in self.more_unknown_keys(&span) {
                    let key = escape(also.key.as_bytes());
                    message.push_str(&format!(
                        "; line {line}: unknown key `{key}`{}",
                        also.meant()
                    ));
                }
            }
            self.error(&span, &message)
        })
    }

    /// Finds unknown keys beside the one at `first`, with their lines: each that was found is
    /// made a comment before the text is read again.
    fn more_unknown_keys(&self, first: &Range<usize>) -> Vec<(usize, UnknownKey)> {
        /// More typing errors than this are found one by one.
        const MOST: usize = 5;
        let mut found = Vec::new();
        let mut text = self.text.to_owned();
        let mut at = first.start;
        while found.len() < MOST {
            let line = text.get(..at).and_then(|before| before.rfind('\n'));
            let start = line.map_or(0, |newline| newline + 1);
            // A comment is longer by nothing, so that places stay: the first byte is replaced.
            let is_key = |byte: u8| byte.is_ascii_alphanumeric();
            if !text.as_bytes().get(start).copied().is_some_and(is_key) {
                break;
            }
            text.replace_range(start..start + 1, "#");
            let Err(error) = toml::from_str::<RawProfile>(&text) else {
                break;
            };
            let (Some(key), Some(span)) = (UnknownKey::of(error.message()), error.span()) else {
                break;
            };
            at = span.start;
            let before = text.get(..at).unwrap_or_default();
            found.push((before.matches('\n').count() + 1, key));
        }
        found
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

/// A key that no table has, and those that it could be.
#[derive(Debug)]
struct UnknownKey {
    key: String,
    nearest: Option<String>,
}

impl UnknownKey {
    /// Reads serde's ``unknown field `x`, expected one of `a`, `b` ``.
    fn of(message: &str) -> Option<Self> {
        let rest = message.trim().strip_prefix("unknown field `")?;
        let (key, rest) = rest.split_once('`')?;
        let expected = rest.split('`').skip(1).step_by(2);
        let near = expected.map(|name| (edits(key, name), name));
        let nearest = near.min_by_key(|(edits, _)| *edits);
        let nearest = nearest.filter(|(edits, name)| *edits <= 1 + name.len() / 4);
        Some(Self {
            key: key.to_owned(),
            nearest: nearest.map(|(_, name)| name.to_owned()),
        })
    }

    /// `` (did you mean `command`?)``; nothing if no key is alike.
    fn meant(&self) -> String {
        let nearest = self.nearest.iter();
        nearest
            .map(|name| format!(" (did you mean `{name}`?)"))
            .collect()
    }
}

/// Counts the insertions, deletions and replacements from one word to another.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (at, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[to.len()]
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
