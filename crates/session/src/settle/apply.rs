//! Applies what was approved of a session, and notes in its record how far that is.

use lazaret_gate::case::Case;
use lazaret_gate::decision::ApplyPlan;
use lazaret_transfer::ApplyError;

use super::workspace_lock::lock_whole_workspace;
use super::{SettleContext, SettleError};
use crate::store::LockedSession;
use crate::store::record::{KeepVolume, Phase};
use crate::store::sync_state::write_settled;

/// Writes the approved changes into the workspace, all of them or none. Returns why the staging
/// directory is still there.
///
/// # Errors
/// When another lazaret applies to the same workspace, an earlier apply or undo of it was cut
/// off, a file was changed meanwhile, or the disk refuses. The workspace is as it was before
/// then.
pub(super) fn apply(
    session: &mut LockedSession,
    case: &Case,
    plan: &ApplyPlan,
    context: SettleContext<'_>,
) -> Result<Option<String>, SettleError> {
    let SettleContext {
        store,
        events,
        cancel,
        ..
    } = context;
    let _lock = lock_whole_workspace(store, case.contents.workspace(), events, cancel)?;
    let number = session.dir().next_apply()?;
    let journal = session.dir().journal(number);
    let record = session.record();
    let ends_it = plan.left + plan.held == 0
        && record.keep == KeepVolume::UntilSettled
        && record.commits.is_empty();
    if !ends_it {
        write_settled(session.dir(), number, &plan.taken)?;
    }
    session.update(|record| {
        record.phase = Phase::Applying;
        record.applying = Some(number);
        record.left_out = (plan.left + plan.held) as u64;
        record.undone.clear();
    })?;
    match lazaret_gate::apply::apply(case, plan, &journal) {
        Ok(receipt) => Ok(receipt.cleanup),
        // The record stays at `applying`: `recover` has to finish the rollback.
        Err(error @ ApplyError::Unfinished { .. }) => Err(error.into()),
        Err(error) => {
            session.update(|record| record.phase = Phase::Collected)?;
            Err(error.into())
        }
    }
}
