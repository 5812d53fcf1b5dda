//! `cargo fuzz run tar-crate`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("tar-crate");
