//! `cargo fuzz run scrub`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("scrub");
