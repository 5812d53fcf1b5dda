//! `cargo fuzz run broker-response`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("broker-response");
