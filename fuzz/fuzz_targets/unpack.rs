//! `cargo fuzz run unpack`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("unpack");
