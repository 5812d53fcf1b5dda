//! Carries a decision out, and tells the user how it ended.

use lazaret_gate::case::Case;
use lazaret_gate::decision::{ApplyPlan, Decision, KeepReason};
use lazaret_runtime::EngineError;
use lazaret_tree::escape;

use super::summary;
use crate::failure::{Failure, commits_hint};
use crate::ui::Ui;
use lazaret_session::settle::{self, SettleContext, SettleResult, VolumeDisposal};
use lazaret_session::store::LockedSession;
use lazaret_session::store::record::{Outcome, Record};

/// Carries a decision out, and says so.
///
/// # Errors
/// When applying fails: the workspace is as it was then, and the changes are kept.
pub fn settle(
    session: &mut LockedSession,
    case: &Case,
    decision: &Decision,
    context: SettleContext<'_>,
    ui: &Ui,
) -> Result<SettleResult, Failure> {
    let settled = settle::settle(session, case, decision, context)?;
    if settled.outcome == Outcome::Nothing {
        ui.status("nothing to apply");
    }
    tell(&settled, decision, session.record(), ui);
    Ok(settled)
}

/// Says how a decision was carried out.
pub fn tell(settled: &SettleResult, decision: &Decision, record: &Record, ui: &Ui) {
    if let Some(cause) = &settled.leftovers.staging {
        let cause = escape(cause.as_bytes());
        ui.warn(&format!(
            "the staging directory could not be removed: {cause}"
        ));
    }
    match decision {
        Decision::Apply(plan) => {
            tell_applied(plan, record, ui);
            ui.hint(&format!("`lazaret undo {}` takes it back.", record.id));
            if settled.outcome == Outcome::Kept {
                tell_commits(record, ui);
            }
        }
        Decision::NothingToApply if settled.outcome == Outcome::Kept => tell_commits(record, ui),
        Decision::NothingToApply => {}
        Decision::Reject => ui.hint(&format!(
            "Nothing reached the workspace: `lazaret recover {id}` collects the changes again, \
             `lazaret discard {id}` throws them away.",
            id = record.id
        )),
        Decision::Keep(reason) => tell_kept(reason, record, ui),
        Decision::Landed => tell_landed(record, ui),
        Decision::Discard => ui.status(&format!("discarded {}", record.id)),
    }
    tell_volume(record, settled.leftovers.volume.as_ref(), ui);
}

/// Settles a session that was not judged: see [`settle::finish`].
///
/// # Errors
/// When the record can't be written.
pub fn finish(
    session: &mut LockedSession,
    outcome: Outcome,
    volume: VolumeDisposal<'_>,
    ui: &Ui,
) -> Result<(), Failure> {
    let left = settle::finish(session, outcome, volume)?;
    tell_volume(session.record(), left.as_ref(), ui);
    Ok(())
}

fn tell_kept(reason: &KeepReason, record: &Record, ui: &Ui) {
    let id = &record.id;
    let and = match record.commits.is_empty() {
        true => String::new(),
        false => format!("; and {}", record.commits),
    };
    ui.status(&format!("kept as session {id}: {reason}{and}"));
    ui.hint(&format!(
        "Look with `lazaret review {id}`, or with `lazaret diff {id}` and then `lazaret apply {id}` or `lazaret discard {id}`."
    ));
    if !record.commits.is_empty() {
        ui.hint(&commits_hint(id));
    }
}

/// Says that commits wait, and what can be done with them.
fn tell_commits(record: &Record, ui: &Ui) {
    let id = &record.id;
    ui.status(&format!("kept as session {id}: {}", record.commits));
    ui.hint(&commits_hint(id));
}

/// Says what holds all changes of the session.
pub(crate) fn tell_landed(record: &Record, ui: &Ui) {
    if let Some(name) = &record.landed_as {
        ui.status(&format!(
            "{name} holds all changes of session {}",
            record.id
        ));
    }
}

/// Says what was applied and what was not.
pub(crate) fn tell_applied(plan: &ApplyPlan, record: &Record, ui: &Ui) {
    let id = &record.id;
    let changes = plan.approved.changes();
    let left = match plan.all.saturating_sub(changes.len()) {
        0 => String::new(),
        more => format!(", {more} left out"),
    };
    ui.status(&format!(
        "applied {} of {} ({}){left}",
        changes.len(),
        plan.all,
        summary::counts(changes.iter().map(|change| &**change))
    ));
    if plan.left > 0 {
        ui.hint(&format!(
            "{} more wait in session {id}: `lazaret apply {id}`, or `lazaret discard {id}`.",
            plan.left
        ));
    }
    if plan.held > 0 {
        ui.hint(&format!(
            "{} more are blocked: `lazaret apply {id} --allow PATH`, or `lazaret discard {id}`.",
            plan.held
        ));
    }
}

/// Says that a volume is still there.
pub(crate) fn tell_volume(record: &Record, left: Option<&EngineError>, ui: &Ui) {
    if let Some(error) = left {
        let cause = escape(error.to_string().as_bytes());
        ui.warn(&format!(
            "volume {} could not be removed: {cause}",
            record.volume()
        ));
        ui.hint("`lazaret prune` tries again.");
    }
}
