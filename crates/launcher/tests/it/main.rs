//! Integration tests of the crate, one binary: mostly the command line as a process.

mod check;
mod demo;
mod drivers;
mod engines;
mod gate;
mod git;
mod help;
mod manual;
mod memory;
mod page;
mod patch;
mod profiles;
mod results;
mod rules;
mod session;
mod store;
mod support;
mod usage;
