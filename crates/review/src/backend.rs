//! `ReviewBackend`: what a review needs of the gate.

use lazaret_gate::export::ExportError;
use lazaret_gate::file_side::ContentsError;
use lazaret_gate::propose::ProposeError;

use super::branch::CommitAt;
use super::commit_view::SourceError;
use super::diff_view::DiffView;
use super::item::{Item, ItemStatus};
use super::plan::Plan;

/// Why the gate can't answer a review.
#[derive(Debug, thiserror::Error)]
pub enum ReviewBackendError {
    /// What would be applied can't be derived.
    #[error(transparent)]
    Propose(#[from] ProposeError),
    /// Contents can't be read.
    #[error(transparent)]
    Contents(#[from] ContentsError),
    /// A patch can't be written.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// A commit can't be read.
    #[error(transparent)]
    Commit(SourceError),
    /// The case is no session's.
    #[error("only a session is exported")]
    NoSession,
}

/// What a review needs of the gate. Items are named by their place in the list.
pub trait ReviewBackend {
    /// Reads what is to be shown of an item's contents.
    ///
    /// # Errors
    /// When they can't be read; the review says so in their place and goes on.
    fn diff_view(&mut self, item: usize) -> Result<DiffView, ReviewBackendError>;

    /// Reads what is to be shown of a commit.
    ///
    /// # Errors
    /// When it can't be read; the review says so in its place and goes on.
    fn commit_view(&mut self, at: CommitAt) -> Result<DiffView, ReviewBackendError>;

    /// Says what may become of each item, given what was allowed.
    ///
    /// # Errors
    /// When the gate fails; the review ends.
    fn statuses(&mut self, items: &[Item]) -> Result<Vec<ItemStatus>, ReviewBackendError>;

    /// Derives what would be applied of what was chosen, and judges exactly that. It is what
    /// an agreement is to.
    ///
    /// # Errors
    /// When the gate fails; the review ends.
    fn propose(&mut self, items: &[Item]) -> Result<Plan, ReviewBackendError>;

    /// Writes a patch of what was chosen, and says where.
    ///
    /// # Errors
    /// When it can't be written; the review says so and goes on.
    fn export(&mut self, items: &[Item]) -> Result<String, ReviewBackendError>;
}
