//! Judges a change set: limits, path rules, suspect files.
//!
//! Pure: the only I/O is reading quarantined contents through [`Contents`].
//! The rules never look at a host file system, never resolve a link on disk, and
//! take no policy from what came out of a container.
//!
//! A rule speaks about *changes* only: an entry that is as it was in the
//! baseline never produces a finding (TAR-52).

mod aliases;
mod allowance;
mod catalog;
mod codes;
mod file_findings;
mod finding;
mod finding_buffer;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
mod git_config;
mod git_ignores;
mod git_index;
mod guard;
mod handed;
pub mod home;
mod judge;
mod policy;
mod rules;
#[cfg(any(test, feature = "fuzz"))]
mod samples;
mod shown;
mod verdict;
mod withhold;

pub use allowance::{Allowance, fingerprint, is_allowable};
pub use catalog::{CatalogEntry, catalog};
pub use finding::{Finding, Findings, Subject};
pub use git_config::{Covers, Driver, DriverKind, ExcludeFile, GitConfig, GitUse};
pub use git_ignores::GitIgnores;
pub use git_index::{BlobId, GitIndex};
pub use guard::{completes, is_guarded};
pub use handed::{HandedKind, HandedOut, Mark};
pub use judge::{JudgeInput, judge, judge_reusing};
/// Readers of quarantined contents by digest.
pub use lazaret_tree::Blobs as Contents;
/// How grave a finding is.
pub use lazaret_tree::Severity;
pub use policy::{Destination, Limits, Policy};
pub use rules::deletions::left_out::deleted_unseen;
pub use rules::links::left_out::link_ends;
pub use verdict::{
    ApprovalMismatch, Approved, Outcome, Validated, Verdict, Withheld, WithheldReason,
};
pub use withhold::split;
