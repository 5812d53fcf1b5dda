//! The gate: judge, show, decide, apply. The same code serves `run` and the verbs that
//! take it step by step.

pub mod apply;
pub mod case;
pub mod check;
pub mod choices;
pub mod contents;
pub mod counts;
pub mod decision;
mod derive;
mod drift;
pub mod export;
pub mod git_config;
mod git_index;
pub mod hunks;
pub mod live;
pub mod proposal;
pub mod remembered;
pub mod report;
pub mod review;
pub mod settle;
pub(crate) mod workspace_lock;
