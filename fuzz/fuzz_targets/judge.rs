//! `cargo fuzz run judge`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("judge");
