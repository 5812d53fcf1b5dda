//! Integration tests of the crate, one binary: mostly the command line as a process.

mod check;
mod choice;
mod demo;
mod drivers;
mod engines;
mod file_limit;
mod gate;
mod git;
mod git_from;
mod git_runs;
mod help;
mod manual;
mod memory;
mod own_dirs;
mod page;
mod patch;
mod profiles;
mod results;
mod rules;
mod scope;
mod session;
mod store;
mod support;
mod unseen;
mod usage;
mod workspace;
