//! Applies what was approved: the only place that starts a transaction on a workspace.

use lazaret_transfer::{ApplyError, Transaction};
use lazaret_validator::Approved;

use super::case::Case;
use crate::failure::{Failure, FailureKind};
use crate::session::record::{Phase, identity};
use crate::session::store::{LockedSession, Store};
use crate::ui::Ui;

/// Writes the approved changes into the workspace, all of them or none.
///
/// # Errors
/// When another lazaret applies to the same workspace, a file was changed meanwhile, or the
/// disk refuses. The workspace is as it was before then.
pub fn apply(
    store: &Store,
    session: &mut LockedSession,
    case: &Case,
    approved: Approved,
    ui: &Ui,
) -> Result<(), Failure> {
    let Some(_lock) = store.lock_workspace(identity(case.workspace.identity()))? else {
        let text = "another lazaret is applying changes to this workspace";
        return Err(Failure::message(FailureKind::Refused, text)
            .hinted("Try again when it has finished; the changes are kept."));
    };
    let journal = session.dir().next_journal()?;
    session.update(|record| {
        record.phase = Phase::Applying;
        record.left_out = case.left_out as u64;
    })?;
    let applied = Transaction::prepare(
        &case.workspace,
        approved.changes(),
        &case.quarantine,
        &journal,
    )
    .and_then(Transaction::commit);
    match applied {
        Ok(receipt) => {
            if let Some(cause) = receipt.cleanup {
                let cause = lazaret_transfer::escape(cause.as_bytes());
                ui.warn(&format!(
                    "the staging directory could not be removed: {cause}"
                ));
            }
            Ok(())
        }
        // The record stays at `applying`: `recover` has to finish the rollback.
        Err(error @ ApplyError::Unfinished { .. }) => Err(error.into()),
        Err(error) => {
            session.update(|record| record.phase = Phase::Collected)?;
            Err(error.into())
        }
    }
}
