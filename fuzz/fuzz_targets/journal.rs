//! `cargo fuzz run journal`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("journal");
