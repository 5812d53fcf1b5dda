//! The gate: judge, show, decide, apply. The same code serves `run` and the verbs that
//! take it step by step.

pub mod allowlist;
pub mod apply;
pub mod atomic_file;
pub mod case;
pub mod check;
pub mod choices;
pub mod contents;
pub mod counts;
pub mod decision;
pub mod drift;
pub mod export;
pub mod format;
pub mod git_config;
pub mod git_index;
pub mod hunks;
pub mod input;
pub mod live;
pub mod open;
pub mod proposal;
pub mod propose;
pub mod report;
pub mod review;
pub mod run_report;
pub mod settle;
pub mod subject;
pub mod unlanded;
pub(crate) mod workspace_lock;
