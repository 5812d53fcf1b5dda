//! `cargo fuzz run host-name`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("host-name");
