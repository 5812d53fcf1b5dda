//! `cargo fuzz run members`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("members");
