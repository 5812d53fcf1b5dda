//! `cargo fuzz run answer`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("answer");
