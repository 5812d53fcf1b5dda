//! `gradle/verification-metadata.xml`: hashes by component and file, and who is trusted
//! without one. Read tag by tag; what makes an XML reader expand or fetch is refused.

use std::borrow::Cow;

use super::lock::{Lock, LockedPackage, LockedPackages, Repetition, Trusted};
use super::source::Source;
use crate::rules::structured::{Unreadable, offset};

const ODD: &str = "is no well-formed XML of this kind";

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let mut locked_packages = LockedPackages::default();
    let mut trusted = Vec::new();
    let (mut component, mut artifact) = (None, None);
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let at = offset(text.len() - rest.len() + start);
        let odd = || Unreadable::at(at, ODD);
        rest = rest.get(start..).unwrap_or_default();
        if let Some(comment) = rest.strip_prefix("<!--") {
            let end = comment.find("-->").ok_or_else(odd)?;
            rest = comment.get(end + 3..).unwrap_or_default();
            continue;
        }
        if rest.starts_with("<!") {
            return Err(Unreadable::at(at, "has a declaration"));
        }
        let end = end_of_tag(rest).ok_or_else(odd)?;
        let tag = Tag::read(rest.get(1..end).unwrap_or_default()).ok_or_else(odd)?;
        rest = rest.get(end + 1..).unwrap_or_default();
        match tag.name {
            "component" => {
                let name = format!("{}:{}", tag.get("group"), tag.get("name"));
                component = Some((name, tag.get("version")));
            }
            "artifact" => artifact = Some(tag.get("name")),
            "/component" => component = None,
            "/artifact" => artifact = None,
            "md5" | "sha1" | "sha256" | "sha512" | "pgp" | "also-trust" => {
                let ((name, version), file) = component.as_ref().zip(artifact).ok_or_else(odd)?;
                let hash = format!("{}:{}", tag.name, tag.get("value"));
                let locked_package =
                    LockedPackage::new(at, name.clone(), *version, Source::Unstated);
                locked_packages.push(LockedPackage {
                    file: Cow::Owned(format!("{file} {}", tag.name)),
                    ..locked_package.hashed(Some(Cow::Owned(hash)))
                })?;
            }
            "trust" | "trusted-key" | "trusting" | "ignored-key" | "key-server" => {
                let what = tag.whole();
                trusted.push(Trusted { what, at });
            }
            _ => {}
        }
    }
    for setting in ["verify-metadata", "verify-signatures"] {
        if setting_of(text, setting).is_some_and(|value| value != "true") {
            let what = format!("{setting} is off");
            trusted.push(Trusted { what, at: 0 });
        }
    }
    Ok(Lock {
        locked_packages: locked_packages.into_vec(),
        repetition: Repetition::Ordinary,
        repeated: Vec::new(),
        trusted,
    })
}

/// The text of an element without children.
fn setting_of<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    Some(rest.split_once('<')?.0.trim())
}

/// Returns where a tag's `>` stands, which may also stand in a value.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            (None, b'>') => return Some(at),
            _ => {}
        }
    }
    None
}

struct Tag<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
}

impl<'a> Tag<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let text = text.strip_suffix('/').unwrap_or(text).trim();
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        let (name, mut rest) = text.split_at(end);
        let mut attributes = Vec::new();
        // A processing instruction has a form of its own, and says nothing here.
        while !rest.trim().is_empty() && !name.starts_with('?') {
            let (key, after) = rest.split_once('=')?;
            let after = after.trim_start();
            let quote = after
                .chars()
                .next()
                .filter(|quote| "\"'".contains(*quote))?;
            let (value, after) = after.get(1..)?.split_once(quote)?;
            attributes.push((key.trim(), value));
            rest = after;
        }
        Some(Self { name, attributes })
    }

    fn get(&self, key: &str) -> &'a str {
        let mut found = self.attributes.iter().filter(|(name, _)| *name == key);
        found.next().map_or("", |(_, value)| value)
    }

    fn whole(&self) -> String {
        let attributes = self.attributes.iter();
        let attributes = attributes.map(|(key, value)| format!(" {key}={value}"));
        format!("{}{}", self.name, attributes.collect::<String>())
    }
}
