//! Applies what was seen of a session whose command runs on.

use lazaret_gate::case::Case;
use lazaret_gate::decision::ApplyPlan;

use super::workspace_lock::lock_whole_workspace;
use super::{SettleError, Store};
use crate::audit::Durability;
use crate::audit::event::{Approval, Approver, AuditEvent};
use crate::cancel::Cancel;
use crate::event::EventSink;
use crate::store::SessionDir;
use crate::store::sync_state::write_settled;

/// What an apply takes, beside the session.
#[derive(Debug, Clone, Copy)]
pub struct LiveContext<'a> {
    /// Where the session is.
    pub store: &'a Store,
    /// Who agrees.
    pub approver: Approver,
    /// Told that another launcher is waited for.
    pub events: &'a dyn EventSink,
    /// Ends the wait.
    pub cancel: &'a Cancel,
}

/// Writes the approved changes into the workspace, all of them or none. The record stays as it is:
/// it belongs to the session's keeper. If this process is killed, the journal says so, and `recover`
/// finishes the apply once the session has ended. Returns why the staging directory is still there.
///
/// # Errors
/// As [`settle`](super::settle). The workspace is as it was before then.
pub fn apply_live(
    dir: &SessionDir,
    case: &Case,
    plan: &ApplyPlan,
    context: LiveContext<'_>,
) -> Result<Option<String>, SettleError> {
    let workspace = case.contents.workspace();
    let _lock = lock_whole_workspace(context.store, workspace, context.events, context.cancel)?;
    let approval = Approval::of(context.approver, plan, case.whole());
    let event = AuditEvent::Approved(approval);
    dir.audit_log()
        .append(dir.id(), event, Durability::Synced)?;
    let number = dir.next_apply()?;
    write_settled(dir, number, &plan.taken)?;
    let receipt = lazaret_gate::apply::apply(case, plan, &dir.journal(number))?;
    Ok(receipt.cleanup)
}
