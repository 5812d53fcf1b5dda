//! Three trees into a plan.

mod git;
mod kit;
mod random;
mod receipts;
mod tables;
