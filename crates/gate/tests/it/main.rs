//! The gate on directories alone: no engine, no container, no command line.

mod desk;
mod hunks;
mod merge;
mod proposal;
mod renames;
