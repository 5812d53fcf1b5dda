//! `WaitingCommits`: what a question about files needs of the commits beside them.

use std::fmt;

use lazaret_gate::tip_report::WaitingReport;
use lazaret_review::branch::Commits;
use lazaret_review::commit_view::CommitSource;

use crate::failure::{Failure, FailureKind};

/// The commits that wait in the copy of a session.
pub trait WaitingCommits: fmt::Debug {
    /// Returns what waits, in escaped words; `None` if nothing does.
    fn waiting(&self) -> Option<String>;

    /// Whether none wait any more, and what was landed holds all changes of files.
    fn hold_all(&self) -> bool;

    /// Shows them, asks whether to land them, and lands them after a yes.
    ///
    /// # Errors
    /// When they can't be fetched, examined or landed. What was landed until then is noted.
    fn ask(&mut self) -> Result<(), Failure>;

    /// Fetches and examines them for a report, which says so if that fails; `None` if none
    /// wait.
    fn report(&mut self) -> Option<WaitingReport>;

    /// Fetches and examines them for the review.
    ///
    /// # Errors
    /// When they can't be fetched or examined.
    fn show(&mut self) -> Result<ShownCommits<'_>, Failure>;

    /// Lands those of these places among what was shown last.
    ///
    /// # Errors
    /// When git fails, or the disk. What was landed until then is noted.
    fn land(&mut self, branches: &[usize]) -> Result<(), Failure>;
}

/// What a review shows of commits.
#[derive(Debug)]
pub struct ShownCommits<'a> {
    /// The list.
    pub commits: Commits,
    /// Where their changes are read.
    pub source: Box<dyn CommitSource + 'a>,
    /// What reports say of them.
    pub report: WaitingReport,
}

/// No commits: those of a case that is no session's.
#[derive(Debug)]
pub struct NoCommits;

impl WaitingCommits for NoCommits {
    fn waiting(&self) -> Option<String> {
        None
    }

    fn hold_all(&self) -> bool {
        false
    }

    fn ask(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn report(&mut self) -> Option<WaitingReport> {
        None
    }

    fn show(&mut self) -> Result<ShownCommits<'_>, Failure> {
        Err(Failure::message(FailureKind::Internal, "no commits wait"))
    }

    fn land(&mut self, _branches: &[usize]) -> Result<(), Failure> {
        Ok(())
    }
}
