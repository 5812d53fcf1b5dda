//! The gate of lazaret: judges what a session changed, derives what would be applied, and
//! applies it. No engine, no session, no terminal.
//!
//! | step | files |
//! | --- | --- |
//! | put together | [`input`] is what a [`case::Case`] is made of; [`contents`] finds its bytes, [`drift`] what the user did meanwhile |
//! | judge | [`propose`] derives a [`proposal::Proposal`] from a case and [`choices`], and has it judged; [`allowlist`] is what the user allows for good |
//! | know the user's git | [`git_config`], [`git_index`] |
//! | decide | [`decision`]: what becomes of a proposal, as far as no question is needed |
//! | apply | [`apply`](mod@apply), the only transaction on a workspace |
//! | tell | [`report`] and [`export`]: a patch, a JSON report, a page |
//! | without a session | [`check`] judges any two trees |
//!
//! An approval names the digest of exactly the bytes that the rules have seen and that were
//! shown. New contents come from the quarantine by digest, old ones from the base store or the
//! workspace. Both are hashed again when they are read.
//!
//! Each step has an error enum in its file. It says what failed; the caller says what to do.

pub mod allowlist;
pub mod apply;
pub mod atomic_file;
pub mod case;
pub mod check;
pub mod choices;
pub mod contents;
pub mod decision;
pub mod drift;
pub mod export;
pub mod file_diff;
pub mod file_side;
pub mod format;
pub mod git_config;
pub mod git_index;
pub mod ignored;
pub mod input;
pub mod proposal;
pub mod propose;
pub mod report;
pub mod subject;
pub mod three_sides;
pub mod tip_report;
pub mod unlanded;
pub mod waiting;
