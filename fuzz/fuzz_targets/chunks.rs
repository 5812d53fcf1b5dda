//! `cargo fuzz run chunks`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("chunks");
