//! `cargo fuzz run manifest`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("manifest");
