//! The gate on directories alone: no engine, no container, no command line.

mod desk;
mod hunks;
mod merge;
mod prompt;
mod proposal;
mod renames;
