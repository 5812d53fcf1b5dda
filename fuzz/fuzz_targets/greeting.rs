//! `cargo fuzz run greeting`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("greeting");
