//! `cargo fuzz run merge`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("merge");
