//! `cargo fuzz run lockfile`.

#![cfg_attr(fuzzing, no_main)]

lazaret_fuzz::fuzz_target!("lockfile");
