//! Lockfiles (SUS-23): what decides which bytes a package manager downloads and runs.
//!
//! Their diffs are too long to review, so the validator reads each format into one form and
//! compares the two sides. A known package may not come from another source nor have other
//! contents, and a new one may not come from a host that the baseline does not use.

mod bun;
mod cargo;
mod compare;
mod composer;
mod deno;
mod flake;
mod gemfile;
mod go_sum;
mod gradle;
mod index;
mod lines;
mod lock;
mod mix;
mod npm;
mod nuget;
mod origins;
mod pdm;
mod pipfile;
mod pnpm;
mod poetry;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod properties;
mod pubspec;
mod pylock;
mod source;
mod swift;
mod terraform;
mod uv;
mod yarn;
mod yarn_classic;

use std::borrow::Cow;

use lazaret_tree::Change;

use crate::Severity;
use crate::codes;
use crate::finding_buffer::FindingBuffer;
use crate::rules::names::fold::skeleton;
use crate::rules::structured::driver::DocumentKind;
use crate::rules::structured::{Data, Unreadable, Value, text_of};
use crate::rules::{Context, FilePair, FileSide};
use lock::Lock;

type Read = for<'a> fn(&'a str) -> Result<Lock<'a>, Unreadable>;

/// One format. `tests/samples` must have a genuine file of it.
struct Format {
    /// The file names, folded.
    names: &'static [&'static str],
    read: Read,
}

#[rustfmt::skip]
const FORMATS: &[Format] = &[
    Format { names: &[".terraform.lock.hcl"], read: terraform::read },
    Format { names: &["bun.lock"], read: bun::read },
    Format { names: &["cargo.lock"], read: cargo::read },
    Format { names: &["composer.lock"], read: composer::read },
    Format { names: &["deno.lock"], read: deno::read },
    Format { names: &["flake.lock"], read: flake::read },
    Format { names: &["gemfile.lock", "gems.locked"], read: gemfile::read },
    Format { names: &["go.sum", "go.work.sum"], read: go_sum::read },
    Format { names: &["mix.lock"], read: mix::read },
    Format { names: &["package-lock.json", "npm-shrinkwrap.json"], read: npm::read },
    Format { names: &["package.resolved"], read: swift::read },
    Format { names: &["packages.lock.json"], read: nuget::read },
    Format { names: &["pdm.lock"], read: pdm::read },
    Format { names: &["pipfile.lock"], read: pipfile::read },
    Format { names: &["pnpm-lock.yaml"], read: pnpm::read },
    Format { names: &["poetry.lock"], read: poetry::read },
    Format { names: &["pubspec.lock"], read: pubspec::read },
    Format { names: &["pylock.toml"], read: pylock::read },
    Format { names: &["uv.lock"], read: uv::read },
    Format { names: &["verification-metadata.xml"], read: gradle::read },
    Format { names: &["yarn.lock"], read: yarn::read },
];

fn format_of(path: &lazaret_tree::RelPath) -> Option<&'static Format> {
    let name = skeleton(path.components().last()?);
    // PEP 751: a project may have several, `pylock.NAME.toml`.
    match name.strip_prefix("pylock.") {
        Some(rest) if rest.ends_with(".toml") => format_named("pylock.toml"),
        _ => format_named(&name),
    }
}

/// Returns the format of a file name, which is folded already.
fn format_named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.names.contains(&name))
}

const LOCKFILE: DocumentKind = DocumentKind {
    noun: "lockfile",
    link: codes::LOCKFILE_LINK,
    deleted: codes::LOCKFILE_DELETED,
    unreadable: codes::LOCKFILE_UNREADABLE,
};

/// What is not about contents: a lockfile that goes, or that becomes a link.
pub(super) fn entries(context: &Context<'_>, change: &Change, report: &mut FindingBuffer) {
    if format_of(&change.path).is_some() {
        let message = "was deleted: the next install takes what it finds";
        LOCKFILE.check_entry(context, change, message, report);
    }
}

/// Compares both sides.
pub(super) fn contents(_: &Context<'_>, pair: &FilePair<'_>, report: &mut FindingBuffer) {
    let Some(format) = format_of(pair.path()) else {
        return by_lines(pair, report);
    };
    if let Some(sides) = LOCKFILE.read(pair, format.read, report) {
        let found = compare::compare(&sides.before, &sides.after);
        found.report(pair.path(), sides.text, report);
    }
}

/// Compares the lines of a lockfile whose format is not read.
fn by_lines(pair: &FilePair<'_>, report: &mut FindingBuffer) {
    if !lines::is_lockfile(pair.path()) {
        return;
    }
    if let (Ok(before), Ok(after)) = (text_of(pair.before()), text_of(pair.after())) {
        lines::compare(before, after).report(pair.path(), after, report);
    } else if !matches!(pair.before(), FileSide::Absent) {
        let message = "has changed, and is in a form that no rule reads";
        report.path(pair.path(), Severity::Warn, codes::LOCKFILE_LINE, message);
    }
}

/// Returns a text field; `null` is as good as none.
fn text_in<'a>(table: &Value<'a>, key: &str) -> Result<Option<Cow<'a, str>>, Unreadable> {
    let Some(value) = table.get(key) else {
        return Ok(None);
    };
    match &value.data {
        Data::Text(text) => Ok(Some(text.clone())),
        Data::Bare(word) if word == "null" => Ok(None),
        _ => Err(Unreadable::at(value.at, "holds no text where one must be")),
    }
}

/// Returns a text field that must be there.
fn required<'a>(table: &Value<'a>, key: &str) -> Result<Cow<'a, str>, Unreadable> {
    let text = text_in(table, key)?.filter(|text| !text.is_empty());
    text.ok_or(Unreadable::at(
        table.at,
        "has a package without a name, a version or alike",
    ))
}

/// Splits `name@version`, where a name may start with `@`.
fn split_version(text: &str) -> (&str, &str) {
    let scope = usize::from(text.starts_with('@'));
    let rest = text.get(scope..).unwrap_or_default();
    match rest.find('@') {
        Some(at) => {
            let (name, version) = text.split_at(scope + at);
            (name, version.get(1..).unwrap_or_default())
        }
        None => (text, ""),
    }
}

/// Returns the text between two quotes; `None` if it has escapes or interpolates something.
fn quoted(text: &str) -> Option<&str> {
    let text = text.trim().strip_prefix('"')?.strip_suffix('"')?;
    (!text.contains(['"', '\\', '#', '$'])).then_some(text)
}

#[cfg(test)]
mod mutated;
#[cfg(test)]
mod tests;
