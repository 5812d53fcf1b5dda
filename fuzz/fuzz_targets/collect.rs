//! `cargo fuzz run collect`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("collect");
