//! `mix.lock` of Elixir: one map of tuples,
//! `"jason": {:hex, :jason, "1.4.1", "INNER HASH", [:mix], [DEPENDENCIES], "hexpm", "HASH"},`
//! or `{:git, "URL", "REVISION", [OPTIONS]}`, in the form that Mix itself writes.

use std::borrow::Cow;

use super::lock::{Lock, LockedPackage, LockedPackages, Repetition};
use super::quoted;
use super::source::{Address, Source};
use crate::rules::structured::{Unreadable, offset};

const ODD: &str = "is not written as Mix writes it";

/// The deepest nesting: the options of a dependency of a package are at 5.
const MOST_DEPTH: usize = 16;

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let mut locked_packages = LockedPackages::default();
    let mut start = 0;
    for line in text.split('\n') {
        let at = offset(start);
        start += line.len() + 1;
        let line = line.trim();
        if matches!(line, "" | "%{" | "}") {
            continue;
        }
        let entry = read_entry(line).ok_or(Unreadable::at(at, ODD))?;
        for locked_package in entry.into_pins(at).ok_or(Unreadable::at(at, ODD))? {
            locked_packages.push(locked_package)?;
        }
    }
    Ok(Lock {
        locked_packages: locked_packages.into_vec(),
        repetition: Repetition::Odd,
        repeated: Vec::new(),
        trusted: Vec::new(),
    })
}

/// One line: a name, and the elements of its tuple.
struct Entry<'a> {
    name: &'a str,
    elements: Vec<&'a str>,
}

fn read_entry(line: &str) -> Option<Entry<'_>> {
    let (name, tuple) = line.strip_suffix(',').unwrap_or(line).split_once(": ")?;
    let tuple = tuple.strip_prefix('{')?.strip_suffix('}')?;
    Some(Entry {
        name: quoted(name)?,
        elements: elements(tuple)?,
    })
}

impl<'a> Entry<'a> {
    fn into_pins(self, at: u32) -> Option<Vec<LockedPackage<'a>>> {
        let element = |at: usize| self.elements.get(at).copied();
        match element(0)? {
            ":hex" => {
                let package = element(1)?.strip_prefix(':')?.trim_matches('"');
                let version = quoted(element(2)?)?;
                let repository = element(6).and_then(quoted).unwrap_or("hexpm");
                // Two hashes: of what is in the archive, and of the archive. Both count.
                let inner = quoted(element(3)?)?;
                let outer = element(7).and_then(quoted).unwrap_or_default();
                let alias = (package != self.name).then_some(Cow::Borrowed(package));
                let source = Source::Web(Address {
                    scheme: Cow::Borrowed("https"),
                    host: Cow::Borrowed(repository),
                    rest: Cow::Borrowed(""),
                });
                let locked_package = LockedPackage {
                    alias,
                    ..LockedPackage::new(at, self.name, version, source)
                };
                let archive = LockedPackage {
                    file: Cow::Borrowed("archive"),
                    ..locked_package.clone().hashed(Some(Cow::Borrowed(outer)))
                };
                let contents = locked_package.hashed(Some(Cow::Borrowed(inner)));
                Some(match outer {
                    "" => vec![contents],
                    _ => vec![contents, archive],
                })
            }
            ":git" => {
                let address = Address::new(quoted(element(1)?)?);
                let revision = quoted(element(2)?)?;
                let source = Source::Git(address, Cow::Borrowed(revision));
                Some(vec![LockedPackage::new(at, self.name, "", source)])
            }
            ":path" => {
                let path = quoted(element(1)?)?;
                Some(vec![LockedPackage::new(
                    at,
                    self.name,
                    "",
                    Source::Path(path.into()),
                )])
            }
            _ => None,
        }
    }
}

/// Splits a tuple at its own commas.
fn elements(tuple: &str) -> Option<Vec<&str>> {
    let mut found = Vec::new();
    let (mut depth, mut in_text, mut start) = (0_usize, false, 0);
    for (at, char) in tuple.char_indices() {
        match char {
            '\\' => return None,
            '"' => in_text = !in_text,
            _ if in_text => {}
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                found.push(tuple.get(start..at)?.trim());
                start = at + 1;
            }
            _ => {}
        }
        if depth > MOST_DEPTH {
            return None;
        }
    }
    found.push(tuple.get(start..)?.trim());
    (depth == 0 && !in_text).then_some(found)
}
