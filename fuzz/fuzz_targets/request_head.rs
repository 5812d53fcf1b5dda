//! `cargo fuzz run request-head`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("request-head");
