//! The gate: judge, show, decide, apply. The same code serves `run` and the verbs that
//! take it step by step.

pub mod apply;
pub mod case;
pub mod decide;
pub mod patch;
pub mod report;
pub mod settle;
pub mod summary;
