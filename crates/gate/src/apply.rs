//! Applies what was approved: the only place that starts a transaction on a workspace.

use std::path::Path;

use lazaret_transfer::{ApplyError, ApplyReceipt, Transaction};

use crate::case::Case;
use crate::decision::ApplyPlan;

/// Writes the approved changes into the workspace, all of them or none. `journal` is where
/// the transaction notes how far it is: the directory must not exist.
///
/// # Errors
/// When an earlier apply or undo of the workspace was cut off, a file was changed meanwhile,
/// or the disk refuses. The workspace is as it was before then, unless the error is
/// [`ApplyError::Unfinished`].
pub fn apply(case: &Case, plan: &ApplyPlan, journal: &Path) -> Result<ApplyReceipt, ApplyError> {
    Transaction::prepare(
        case.contents.workspace(),
        plan.approved.changes(),
        case.contents.quarantine(),
        journal,
    )
    .and_then(Transaction::commit)
}
