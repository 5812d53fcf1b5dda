//! `cargo fuzz run escape`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("escape");
