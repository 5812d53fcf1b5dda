//! What must hold for any bytes that the other side may send, as one function each.
//!
//! A [`Target`] takes bytes and panics when a property is broken; it says nothing else.
//! Three programs feed them: the tests of `lazaret-transfer` with bytes that are made on
//! purpose, this crate's own [`driver`] with a corpus and seeded changes to it (a minute of
//! it is part of `cargo xtask test`), and libFuzzer, which sees what the code does with
//! them (`cargo fuzz run NAME`; see `docs/contributing/fuzzing.md`).

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

/// Makes the program of one target in `fuzz_targets/`: libFuzzer's if `cargo fuzz` builds it,
/// else one that runs the target on the files of its command line.
#[macro_export]
macro_rules! fuzz_target {
    ($name:literal) => {
        #[cfg(fuzzing)]
        ::libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::driver::run($name, bytes));

        #[cfg(not(fuzzing))]
        fn main() -> ::std::io::Result<()> {
            $crate::driver::replay($name)
        }
    };
}

#[cfg(test)]
mod tests {
    use super::targets::ALL;

    /// A target without a program would never be fuzzed.
    #[test]
    fn every_target_has_a_program() {
        let manifest = include_str!("../Cargo.toml");
        let listed = manifest.lines().filter_map(|line| {
            let path = line.strip_prefix("path = \"fuzz_targets/")?;
            Some(path.strip_suffix(".rs\"")?.replace('_', "-"))
        });
        let names = ALL.iter().map(|target| target.name.to_owned());
        assert_eq!(Vec::from_iter(listed), Vec::from_iter(names));
    }
}
