//! `cargo fuzz run trailer`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("trailer");
