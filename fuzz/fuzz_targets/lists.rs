//! `cargo fuzz run lists`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("lists");
