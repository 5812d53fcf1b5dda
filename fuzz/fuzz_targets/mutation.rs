//! `cargo fuzz run mutation`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("mutation");
