//! `cargo fuzz run dns-answer`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("dns-answer");
