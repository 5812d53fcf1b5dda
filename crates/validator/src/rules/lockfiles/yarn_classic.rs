//! The format of Yarn 1: looks like YAML and is none.
//!
//! ```text
//! "@a/b@^1.0.0", c@^1:
//!   version "1.0.0"
//!   resolved "https://…#sha1"
//!   integrity sha512-…
//!   dependencies:
//!     d "^2.0.0"
//! ```

use std::borrow::Cow;

use super::lock::{Lock, LockedPackage, LockedPackages, Repetition};
use super::source::Source;
use super::{required, split_version, text_in};
use crate::rules::structured::{Builder, Data, Unreadable, Value, offset};

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let builder = Builder::default();
    let mut locked_packages = LockedPackages::default();
    let mut entry: Option<Entry<'_>> = None;
    let mut start = 0;
    for line in text.split('\n') {
        let at = offset(start);
        start += line.len() + 1;
        let line = line.strip_suffix('\r').unwrap_or(line);
        let body = line.trim_start_matches(' ');
        if body.is_empty() || body.starts_with('#') {
            continue;
        }
        let error = |reason| Unreadable::at(at, reason);
        if body.contains(|c: char| c.is_control()) {
            return Err(error("holds a control character"));
        }
        builder.count(at)?;
        match (line.len() - body.len(), &mut entry) {
            (0, entry) => {
                let asked = asked(body).ok_or(error("is no list of packages"))?;
                if let Some(done) = entry.replace(Entry::new(at, asked)) {
                    done.finish(&builder, &mut locked_packages)?;
                }
            }
            (2, Some(entry)) => match body.strip_suffix(':') {
                Some(key) => {
                    let key = token(key).filter(|(_, rest)| rest.is_empty());
                    key.ok_or(error("is no key"))?;
                    entry.below = Below::Table;
                }
                None => {
                    let (key, value) = pair(body).ok_or(error("is no key with a value"))?;
                    let value = Value::new(at, Data::Text(value));
                    entry.fields.push((key, value));
                    entry.below = Below::Nothing;
                }
            },
            (4, Some(entry)) if entry.below == Below::Table => {
                pair(body).ok_or(error("is no key with a value"))?;
            }
            _ => return Err(error("is indented without a reason")),
        }
    }
    if let Some(done) = entry {
        done.finish(&builder, &mut locked_packages)?;
    }
    let document = builder.finish(Value::new(0, Data::List(Vec::new())));
    Ok(Lock {
        locked_packages: locked_packages.into_vec(),
        repetition: Repetition::Ordinary,
        repeated: document.repeated,
        trusted: Vec::new(),
    })
}

#[derive(PartialEq, Eq)]
enum Below {
    Nothing,
    Table,
}

struct Entry<'a> {
    at: u32,
    asked: Vec<Cow<'a, str>>,
    fields: Vec<(Cow<'a, str>, Value<'a>)>,
    below: Below,
}

impl<'a> Entry<'a> {
    fn new(at: u32, asked: Vec<Cow<'a, str>>) -> Self {
        Self {
            at,
            asked,
            fields: Vec::new(),
            below: Below::Nothing,
        }
    }

    fn finish(
        self,
        builder: &Builder,
        locked_packages: &mut LockedPackages<'a>,
    ) -> Result<(), Unreadable> {
        let package = builder.table(self.at, self.fields);
        classic_pins(&self.asked, &package, locked_packages)
    }
}

/// `a@^1, "b@^2":`
fn asked(line: &str) -> Option<Vec<Cow<'_, str>>> {
    let mut rest = line;
    let mut asked = Vec::new();
    loop {
        let (name, after) = token(rest)?;
        asked.push(name);
        match after.strip_prefix(", ") {
            Some(after) => rest = after,
            None => return (after == ":").then_some(asked),
        }
    }
}

/// `key value`
fn pair(line: &str) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    let (key, rest) = token(line)?;
    let (value, rest) = token(rest.strip_prefix(' ')?)?;
    rest.is_empty().then_some((key, value))
}

/// A bare word or a string as JSON writes it, of which nothing but `\"` and `\\` occurs.
fn token(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let Some(body) = text.strip_prefix('"') else {
        let end = text.find([' ', ',', '"']).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        // A colon ends a word only at the end of a line: `a@npm:b@1:`.
        let (word, rest) = match word.strip_suffix(':') {
            Some(word) if rest.is_empty() => text.split_at(word.len()),
            _ => (word, rest),
        };
        let start = |c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '.' | '-');
        let fine = word.starts_with(start) && !word.contains(':');
        return fine.then_some((Cow::Borrowed(word), rest));
    };
    let mut value = String::new();
    let mut rest = body;
    loop {
        let at = rest.find(['"', '\\'])?;
        let (piece, tail) = rest.split_at(at);
        if let Some(after) = tail.strip_prefix('"') {
            let value = match value.is_empty() {
                true => Cow::Borrowed(piece),
                false => Cow::Owned(value + piece),
            };
            return Some((value, after));
        }
        value.push_str(piece);
        value.push(match tail.as_bytes().get(1)? {
            b'"' => '"',
            b'\\' => '\\',
            _ => return None,
        });
        rest = tail.get(2..)?;
    }
}

/// Reads the fields of one entry, which both formats name alike.
fn classic_pins<'a>(
    asked: &[Cow<'a, str>],
    package: &Value<'a>,
    locked_packages: &mut LockedPackages<'a>,
) -> Result<(), Unreadable> {
    let version = required(package, "version")?;
    let resolved = text_in(package, "resolved")?;
    let integrity = text_in(package, "integrity")?;
    let (source, fragment) = match resolved {
        Some(resolved) => classic_source(resolved),
        None => (Source::Unstated, None),
    };
    let integrity = match (fragment, integrity) {
        (Some(fragment), Some(integrity)) => Some(Cow::Owned(format!("{integrity} #{fragment}"))),
        (fragment, integrity) => fragment.map(Cow::Owned).or(integrity),
    };
    let mut known = None;
    for asked in asked {
        let (name, range) = split_version(asked);
        let alias = range
            .strip_prefix("npm:")
            .map(|other| split_version(other).0);
        if known == Some((name, alias)) {
            continue;
        }
        known = Some((name, alias));
        let locked_package =
            LockedPackage::new(package.at, name.to_owned(), version.clone(), source.clone());
        locked_packages.push(LockedPackage {
            alias: alias.map(|alias| Cow::Owned(alias.to_owned())),
            ..locked_package.hashed(integrity.clone())
        })?;
    }
    Ok(())
}

/// `https://host/archive.tgz#sha1`, or a repository with its revision behind `#`.
fn classic_source(resolved: Cow<'_, str>) -> (Source<'_>, Option<String>) {
    let is_git = resolved.starts_with("git") || resolved.contains(".git#");
    if is_git {
        return (Source::git(resolved), None);
    }
    match resolved.split_once('#') {
        None => (Source::web(resolved), None),
        Some((url, fragment)) => (Source::web(url.to_owned()), Some(fragment.to_owned())),
    }
}
