//! Carries a decision out, and writes it into the session's record.

mod apply;
pub mod live;
pub mod workspace_lock;

use lazaret_gate::case::Case;
use lazaret_gate::decision::Decision;
use lazaret_gate::proposal::Proposal;
use lazaret_gate::waiting::WaitingChanges;
use lazaret_runtime::EngineError;
use lazaret_transfer::ApplyError;
use lazaret_tree::PathError;

use self::workspace_lock::WorkspaceLockError;
use crate::audit::Durability;
use crate::audit::event::{Approval, Approver, AuditEvent};
use crate::cancel::Cancel;
use crate::context::SessionContext;
use crate::engine::inventory::Inventory;
use crate::event::EventSink;
use crate::store::moment::Moment;
use crate::store::record::{KeepVolume, Outcome, Phase};
use crate::store::unlanded::Unlanded;
use crate::store::{LockedSession, Store, StoreError};

/// Why a decision was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    /// The workspace is not free, or not whole.
    #[error(transparent)]
    Lock(#[from] WorkspaceLockError),
    /// The changes were not written into the workspace.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// The session could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
}

/// How a decision was carried out.
#[derive(Debug)]
pub struct SettleResult {
    /// How the session ended.
    pub outcome: Outcome,
    /// Whether there is an apply that can be undone.
    pub is_applied: bool,
    /// What was to be removed and is still there.
    pub leftovers: Leftovers,
}

/// What was to be removed and is still there; how the session ended does not change by it
/// (FLT-24).
#[derive(Debug, Default)]
pub struct Leftovers {
    /// The staging directory of an apply, and why.
    pub staging: Option<String>,
    /// The volume, and why.
    pub volume: Option<EngineError>,
}

/// What to do with the volume of a session once it is settled.
#[derive(Debug, Clone, Copy)]
pub enum VolumeDisposal<'a> {
    /// Remove it from this engine, unless the session keeps it.
    Remove(&'a SessionContext<'a>),
    /// Leave it: the engine can't be reached now.
    Keep,
}

impl VolumeDisposal<'_> {
    /// Removes the volume of a session that does not keep it.
    ///
    /// # Errors
    /// The engine's.
    pub fn carry_out(self, session: &LockedSession) -> Result<(), EngineError> {
        let record = session.record();
        let Self::Remove(cx) = self else {
            return Ok(());
        };
        if record.keep != KeepVolume::UntilSettled || !record.commits.is_empty() {
            return Ok(());
        }
        cx.removals.finish();
        let all = Inventory::of_store(&*cx.engine, &cx.store_id)?.of(&record.owner());
        all.except_lasting_volumes()
            .surveyed(record)
            .remove(&*cx.engine)
    }
}

/// What carrying a decision out takes, beside the session.
#[derive(Debug, Clone, Copy)]
pub struct SettleContext<'a> {
    /// Where the session is.
    pub store: &'a Store,
    /// What becomes of its volume.
    pub volume: VolumeDisposal<'a>,
    /// Who agrees, if changes are applied.
    pub approver: Approver,
    /// Told that another launcher is waited for.
    pub events: &'a dyn EventSink,
    /// Ends the wait.
    pub cancel: &'a Cancel,
}

/// Carries a decision out.
///
/// # Errors
/// When applying fails: the workspace is as it was then, and the changes are kept.
pub fn settle(
    session: &mut LockedSession,
    case: &Case,
    decision: &Decision,
    context: SettleContext<'_>,
) -> Result<SettleResult, SettleError> {
    let has_commits = !session.record().commits.is_empty();
    let mut staging = None;
    let is_applied = matches!(decision, Decision::Apply(_));
    let outcome = match decision {
        Decision::Apply(plan) => {
            let approval = Approval::of(context.approver, plan, case.whole());
            session.tell(AuditEvent::Approved(approval), Durability::Synced)?;
            staging = apply::apply(session, case, plan, context)?;
            if plan.left + plan.held > 0 || has_commits {
                let waiting = case.whole();
                let waiting =
                    waiting.and_then(|whole| WaitingChanges::of(whole, Some(&plan.taken)));
                session.update(|record| record.waiting = waiting)?;
                return leave_rest(session, plan.left, context.volume, staging);
            }
            Outcome::Applied
        }
        Decision::NothingToApply if has_commits => Outcome::Kept,
        Decision::NothingToApply => Outcome::Nothing,
        Decision::Landed => Outcome::Landed,
        Decision::Discard => Outcome::Discarded,
        Decision::Reject => {
            let why = case.whole().and_then(rejection);
            session.update(|record| record.rejection = why)?;
            Outcome::Rejected
        }
        Decision::Keep(_) => Outcome::Kept,
    };
    if outcome == Outcome::Kept {
        let whole = case.whole();
        let waiting = whole.and_then(|whole| WaitingChanges::of(whole, None));
        session.update(|record| record.waiting = waiting)?;
    }
    let volume = finish(session, outcome, context.volume)?;
    Ok(SettleResult {
        outcome,
        is_applied,
        leftovers: Leftovers { staging, volume },
    })
}

/// Keeps what an apply left out. It is not lost: what is applied already counts as unchanged
/// from then on.
fn leave_rest(
    session: &mut LockedSession,
    left: usize,
    volume: VolumeDisposal<'_>,
    staging: Option<String>,
) -> Result<SettleResult, SettleError> {
    let outcome = match session.record().commits.is_empty() {
        true => Outcome::Applied,
        false => Outcome::Kept,
    };
    session.update(|record| {
        record.phase = Phase::Collected;
        record.outcome = Some(outcome);
    })?;
    // Nothing but the quarantine is needed for what waits to be allowed.
    let volume = match left {
        0 => volume.carry_out(session).err(),
        _ => None,
    };
    Ok(SettleResult {
        outcome,
        is_applied: true,
        leftovers: Leftovers { staging, volume },
    })
}

/// Returns what a batch is rejected for: the code and the reason.
fn rejection(proposal: &Proposal) -> Option<(String, String)> {
    let mut findings = proposal.findings().iter();
    // Only what rejects says what is to be done about the batch.
    let why = findings.find(|finding| finding.hint.is_some())?;
    let reason = format!("{}: {}", why.subject, why.message);
    Some((why.code.to_owned(), reason))
}

/// Writes the outcome down and removes what is not needed any more. Returns why the volume is
/// still there, if it was to be removed; `prune` tries again.
///
/// # Errors
/// When the record can't be written.
pub fn finish(
    session: &mut LockedSession,
    outcome: Outcome,
    volume: VolumeDisposal<'_>,
) -> Result<Option<EngineError>, StoreError> {
    let phase = match outcome {
        Outcome::Applied
        | Outcome::Nothing
        | Outcome::Discarded
        | Outcome::Undone
        | Outcome::Landed => Phase::Settled,
        Outcome::Kept => Phase::Collected,
        Outcome::Rejected => Phase::Rejected,
    };
    session.update(|record| {
        record.outcome = Some(outcome);
        record.phase = phase;
        if phase == Phase::Settled {
            record.settled_at(Moment::now());
            record.waiting = None;
        }
        if outcome == Outcome::Discarded {
            // What the volume holds is of no use any more.
            record.reset = true;
            record.commits = Unlanded::default();
        }
    })?;
    if phase != Phase::Settled {
        return Ok(None);
    }
    session.remove_collection()?;
    Ok(volume.carry_out(session).err())
}
