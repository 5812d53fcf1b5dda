//! `cargo fuzz run screen`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("screen");
