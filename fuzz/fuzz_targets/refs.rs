//! `cargo fuzz run refs`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("refs");
