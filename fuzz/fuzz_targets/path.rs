//! `cargo fuzz run path`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("path");
