//! `cargo fuzz run broker-request`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("broker-request");
