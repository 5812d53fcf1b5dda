//! The gate on directories alone: no engine, no container, no command line.

mod desk;
mod file_diff;
mod git_apply;
mod ignored;
mod merge;
mod proposal;
mod renames;
mod three_sides;
