//! `Lock`: what every lockfile says, in one form.

use std::borrow::Cow;

use super::source::Source;
use crate::rules::structured::{Repeated, Unreadable};
use crate::shown::shown;

/// One statement of a lockfile: this file of this version of this package is there, and
/// has these contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LockedPackage<'a> {
    pub(crate) name: Cow<'a, str>,
    /// Empty where the format names an address instead.
    pub(crate) version: Cow<'a, str>,
    /// One of several files of the version; empty where there is only one, or where this
    /// is the statement about the version itself.
    pub(crate) file: Cow<'a, str>,
    pub(crate) source: Source<'a>,
    /// The other package whose contents are installed under this name.
    pub(crate) alias: Option<Cow<'a, str>>,
    /// The hash of the contents, in the format's own notation.
    pub(crate) integrity: Option<Cow<'a, str>>,
    /// Offset in bytes.
    pub(crate) at: u32,
}

/// Whether a format may say the same twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repetition {
    /// It does, one statement per place of a tree.
    Ordinary,
    /// It does not, and its readers differ in what they make of it.
    Odd,
}

/// What a lockfile says.
#[derive(Debug)]
pub(crate) struct Lock<'a> {
    pub(crate) locked_packages: Vec<LockedPackage<'a>>,
    pub(crate) repetition: Repetition,
    /// Keys that stand twice in one table.
    pub(crate) repeated: Vec<Repeated>,
    /// What its reader is told not to check.
    pub(crate) trusted: Vec<Trusted>,
}

/// Something that is taken without a hash or a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trusted {
    pub(crate) what: String,
    /// Offset in bytes.
    pub(crate) at: u32,
}

/// The most statements of one lockfile: with both sides full, a comparison takes some
/// 120 MiB. A lockfile of a thousand packages with fifty files each has half as many.
pub(super) const MOST_PINS: usize = 1 << 17;

/// Statements under way, bounded.
#[derive(Debug, Default)]
pub(super) struct LockedPackages<'a>(Vec<LockedPackage<'a>>);

impl<'a> LockedPackages<'a> {
    pub(super) fn push(&mut self, locked_package: LockedPackage<'a>) -> Result<(), Unreadable> {
        if self.0.len() >= MOST_PINS {
            return Err(Unreadable::at(locked_package.at, "has too many packages"));
        }
        self.0.push(locked_package);
        Ok(())
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut LockedPackage<'a>> {
        self.0.iter_mut()
    }

    pub(super) fn into_vec(self) -> Vec<LockedPackage<'a>> {
        self.0
    }
}

impl<'a> LockedPackage<'a> {
    /// Makes a statement without file, alias and hash.
    pub(crate) fn new(
        at: u32,
        name: impl Into<Cow<'a, str>>,
        version: impl Into<Cow<'a, str>>,
        source: Source<'a>,
    ) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            file: Cow::Borrowed(""),
            source,
            alias: None,
            integrity: None,
            at,
        }
    }

    /// Adds the hash.
    pub(crate) fn hashed(self, integrity: Option<Cow<'a, str>>) -> Self {
        let integrity = integrity.filter(|integrity| !integrity.is_empty());
        Self { integrity, ..self }
    }
}

impl LockedPackage<'_> {
    /// Names it in a message.
    pub(super) fn title(&self) -> String {
        match self.version.is_empty() {
            true => shown(&self.name),
            false => format!("{} {}", shown(&self.name), shown(&self.version)),
        }
    }

    /// Makes a copy of every text.
    pub(super) fn into_owned<'b>(self) -> LockedPackage<'b> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        LockedPackage {
            name: owned(self.name),
            version: owned(self.version),
            file: owned(self.file),
            source: self.source.into_owned(),
            alias: self.alias.map(owned),
            integrity: self.integrity.map(owned),
            at: self.at,
        }
    }
}
