//! `Document`: the JSON, TOML, YAML and INI of package managers as one kind of tree.
//!
//! The inputs are hostile. Each reader is linear in time, bounds the depth and the number
//! of values, and refuses what it does not know rather than guess: a file that two
//! programs read differently shows one thing to a reviewer and another to a package
//! manager.

pub(crate) mod driver;
pub(crate) mod ini;
pub(crate) mod json;
pub(crate) mod key_diff;
pub(crate) mod toml;
pub(crate) mod yaml;
mod yaml_scalar;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;

use crate::rules::FileSide;

/// The most values of one document, so that a small file can't fill the memory: with their
/// keys they take 45 MiB. A lockfile of forty thousand packages has as many.
pub(crate) const MOST_VALUES: usize = 1 << 19;

/// The deepest nesting where the format's own reader has no lower limit.
pub(crate) const MOST_DEPTH: usize = 64;

/// The most repeated keys that are kept; one is enough to be told of.
const MOST_REPEATED: usize = 16;

/// Why a text can't be read. Holds nothing of the text itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub(crate) struct Unreadable {
    /// Where, as an offset in bytes, when the reader knows.
    pub(crate) at: Option<u32>,
    /// What is wrong, a sentence fragment.
    pub(crate) reason: &'static str,
}

impl Unreadable {
    pub(crate) fn new(reason: &'static str) -> Self {
        Self { at: None, reason }
    }

    pub(crate) fn at(at: u32, reason: &'static str) -> Self {
        Self {
            at: Some(at),
            reason,
        }
    }
}

/// One document.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    pub(crate) root: Value<'a>,
    pub(crate) repeated: Vec<Repeated>,
}

/// A key that stands twice in one table: readers differ in which they take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repeated {
    pub(crate) key: String,
    pub(crate) at: u32,
}

/// One value.
#[derive(Debug)]
pub(crate) struct Value<'a> {
    /// Offset in bytes, of the key where there is one.
    pub(crate) at: u32,
    pub(crate) data: Data<'a>,
}

/// What a value holds.
#[derive(Debug)]
pub(crate) enum Data<'a> {
    /// A string.
    Text(Cow<'a, str>),
    /// A number, a date, `true`, `false` or `null`.
    Bare(Cow<'a, str>),
    List(Vec<Value<'a>>),
    /// In the order of the file where the reader keeps it. A repeated key is there twice.
    Table(Vec<(Cow<'a, str>, Value<'a>)>),
}

impl<'a> Value<'a> {
    pub(crate) fn new(at: u32, data: Data<'a>) -> Self {
        Self { at, data }
    }

    /// Returns the value of a key; of a repeated one the last, as most programs do.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let mut entries = self.entries().iter().rev();
        entries
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// Whether a key holds a bare `true`, or in YAML the word.
    pub(crate) fn is_true(&self, key: &str) -> bool {
        match self.get(key).map(|value| &value.data) {
            Some(Data::Bare(word) | Data::Text(word)) => word == "true",
            _ => false,
        }
    }

    /// Returns the string that this is.
    pub(crate) fn text(&self) -> Option<&Cow<'a, str>> {
        match &self.data {
            Data::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the entries of a table; none of anything else.
    pub(crate) fn entries(&self) -> &[(Cow<'a, str>, Self)] {
        match &self.data {
            Data::Table(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the items of a list; none of anything else.
    pub(crate) fn items(&self) -> &[Self] {
        match &self.data {
            Data::List(items) => items,
            _ => &[],
        }
    }
}

impl<'a> Data<'a> {
    /// Makes a list that takes no more room than it needs: most have one item, and a vector
    /// that grew has room for four.
    pub(crate) fn list(mut items: Vec<Value<'a>>) -> Self {
        items.shrink_to_fit();
        Self::List(items)
    }
}

/// Equal when they hold the same, wherever they stand.
impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (&self.data, &other.data) {
            (Data::Text(a), Data::Text(b)) | (Data::Bare(a), Data::Bare(b)) => a == b,
            (Data::List(a), Data::List(b)) => a == b,
            (Data::Table(a), Data::Table(b)) => a == b,
            _ => false,
        }
    }
}

/// What is shared by the readers of one document while they build it.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    values: Cell<usize>,
    repeated: std::cell::RefCell<Vec<Repeated>>,
}

impl Builder {
    /// Counts one value.
    pub(crate) fn count(&self, at: u32) -> Result<(), Unreadable> {
        self.values.set(self.values.get() + 1);
        match self.values.get() > MOST_VALUES {
            true => Err(Unreadable::at(at, "has too many values")),
            false => Ok(()),
        }
    }

    /// Makes a table, and remembers which keys stand in it twice.
    pub(crate) fn table<'a>(
        &self,
        at: u32,
        mut entries: Vec<(Cow<'a, str>, Value<'a>)>,
    ) -> Value<'a> {
        entries.shrink_to_fit();
        if has_repeated(&entries) {
            let mut seen = HashSet::new();
            let mut repeated = self.repeated.borrow_mut();
            for (key, value) in &entries {
                if !seen.insert(key) && repeated.len() < MOST_REPEATED {
                    repeated.push(Repeated {
                        key: key.to_string(),
                        at: value.at,
                    });
                }
            }
        }
        Value::new(at, Data::Table(entries))
    }

    pub(crate) fn finish(self, root: Value<'_>) -> Document<'_> {
        Document {
            root,
            repeated: self.repeated.into_inner(),
        }
    }
}

fn has_repeated(entries: &[(Cow<'_, str>, Value<'_>)]) -> bool {
    // Most tables are small, and comparing is quicker than hashing there.
    if entries.len() <= 8 {
        let mut rest = entries;
        while let [(key, _), more @ ..] = rest {
            if more.iter().any(|(other, _)| other == key) {
                return true;
            }
            rest = more;
        }
        return false;
    }
    let mut seen = HashSet::with_capacity(entries.len());
    !entries.iter().all(|(key, _)| seen.insert(key))
}

/// Returns the text of one side, without the byte order mark that some editors write and
/// every package manager skips.
pub(crate) fn text_of(side: &FileSide) -> Result<&str, Unreadable> {
    match side {
        FileSide::Bytes(bytes) | FileSide::Utf16(bytes) => text_of_bytes(bytes),
        FileSide::Absent => Err(Unreadable::new("there is no file")),
        FileSide::TooLarge => Err(Unreadable::new("is too large to be looked into")),
        FileSide::Unreadable(_) => Err(Unreadable::new("the contents can't be had")),
    }
}

pub(crate) fn text_of_bytes(bytes: &[u8]) -> Result<&str, Unreadable> {
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        return Err(Unreadable::at(offset(at), "holds a NUL byte"));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => Err(Unreadable::at(offset(error.valid_up_to()), "is not UTF-8")),
    }
}

/// Offsets are kept in 32 bits: nothing above 16 MiB is looked into.
pub(crate) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Returns the line of an offset, counted from 1.
pub(crate) fn line_of(text: &str, at: u32) -> u32 {
    let before = text.as_bytes().iter().take(at as usize);
    let breaks = before.filter(|&&byte| byte == b'\n').count();
    offset(breaks).saturating_add(1)
}

#[cfg(test)]
mod tests;
