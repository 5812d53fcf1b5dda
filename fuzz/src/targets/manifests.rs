//! The readers of lockfiles and manifests, each format by its name, without the rules around
//! them. What must hold of any input is asserted beside the readers, in the validator.

use lazaret_validator::fuzz::{self, Sample};

use crate::input::Input;

pub(crate) const WORDS: &[&[u8]] = &[
    b"\"scripts\": {",
    b"\"postinstall\": \"x\"",
    b"\"dependencies\": {\"a\": \"file:..\"}",
    b"[build-system]\n",
    b"requires = [",
    b"build-backend = ",
    b"[tool.uv]\n",
    b"index-url = ",
    b"[patch.crates-io]\n",
    b"build = \"x.rs\"\n",
    b"[options]\n",
    b"\n  ",
    b"\\u0000",
    b"{",
    b"}",
    b"\xfe",
];

/// The bytes are the number of a name, the contents before up to the first byte 0xFE, and
/// those after.
pub(crate) fn lockfile(bytes: &[u8]) {
    read(
        bytes,
        &fuzz::lockfile_names(),
        fuzz::lockfile,
        fuzz::lockfile_change,
    );
}

/// As [`lockfile`].
pub(crate) fn manifest(bytes: &[u8]) {
    read(
        bytes,
        &fuzz::manifest_names(),
        fuzz::manifest,
        fuzz::manifest_change,
    );
}

fn read(
    bytes: &[u8],
    names: &[&str],
    new: fn(&str, &[u8]) -> bool,
    changed: fn(&str, &[u8], &[u8]) -> bool,
) {
    let mut input = Input(bytes);
    let name = names[usize::from(input.byte()) % names.len()];
    let (before, after) = (input.until(0xfe), input.0);
    // Whether a text can be read does not depend on what was there before.
    assert_eq!(new(name, after), changed(name, before, after), "{name}");
}

pub(crate) fn lockfiles() -> Vec<Vec<u8>> {
    seeds(&fuzz::lockfile_samples(), &fuzz::lockfile_names())
}

pub(crate) fn manifests() -> Vec<Vec<u8>> {
    seeds(&fuzz::manifest_samples(), &fuzz::manifest_names())
}

/// Each sample as it is, after itself.
fn seeds(samples: &[Sample], names: &[&str]) -> Vec<Vec<u8>> {
    let seed = |Sample { name, text, .. }: &Sample| {
        let number = names.iter().position(|known| known == name);
        let number = number.expect("the name of a format");
        [&[number as u8], text.as_bytes(), &[0xfe], text.as_bytes()].concat()
    };
    samples.iter().map(seed).collect()
}
