//! What must hold for any bytes that the other side may send, as one function each.
//!
//! A [`Target`] takes bytes and panics when a property is broken; it says nothing else.
//! Three programs feed them: the tests of `lazaret-transfer` with bytes that are made on
//! purpose, this crate's own [`driver`] with a corpus and seeded changes to it (a minute of
//! it is part of `cargo xtask test`), and libFuzzer, which sees what the code does with
//! them (`cargo xtask fuzz`; see `docs/contributing/fuzzing.md`).

pub mod driver;
mod input;
mod mutate;
pub mod targets;

use std::path::PathBuf;

/// One property.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// What it is called on the command line; the folder of its corpus too.
    pub name: &'static str,
    /// Panics when the bytes break the property.
    pub run: fn(&[u8]),
    /// Bytes to start from.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Pieces that are worth inserting.
    pub dictionary: &'static [&'static [u8]],
}

impl Target {
    /// Finds a target by its name.
    pub fn named(name: &str) -> Option<&'static Self> {
        targets::ALL.iter().find(|target| target.name == name)
    }

    /// Where the inputs of this target are kept in the repository.
    pub fn corpus(&self) -> PathBuf {
        [env!("CARGO_MANIFEST_DIR"), "corpus", self.name]
            .iter()
            .collect()
    }
}
