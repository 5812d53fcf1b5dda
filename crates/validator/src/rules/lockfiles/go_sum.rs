//! `go.sum`: `MODULE VERSION[/go.mod] HASH` per line. It names no source.

use std::borrow::Cow;

use super::lock::{Lock, Pin, Pins, Repetition};
use super::source::Source;
use crate::rules::structured::{Unreadable, offset};

/// Reads a lockfile.
pub(super) fn read(text: &str) -> Result<Lock<'_>, Unreadable> {
    let mut pins = Pins::default();
    let mut start = 0;
    for line in text.split('\n') {
        let at = offset(start);
        start += line.len() + 1;
        let mut words = line.split_ascii_whitespace();
        let Some(name) = words.next() else { continue };
        let (Some(version), Some(hash), None) = (words.next(), words.next(), words.next()) else {
            return Err(Unreadable::at(at, "is not a module, a version and a hash"));
        };
        if !version.starts_with('v') || !hash.contains(':') {
            return Err(Unreadable::at(at, "is not a module, a version and a hash"));
        }
        let (version, file) = match version.strip_suffix("/go.mod") {
            Some(version) => (version, "go.mod"),
            None => (version, ""),
        };
        let pin = Pin::new(at, name, version, Source::Unstated);
        let pin = pin.hashed(Some(Cow::Borrowed(hash)));
        pins.push(Pin {
            file: Cow::Borrowed(file),
            ..pin
        })?;
    }
    Ok(Lock {
        pins: pins.into_vec(),
        repetition: Repetition::Ordinary,
        repeated: Vec::new(),
        trusted: Vec::new(),
    })
}
