//! Carries a decision out, and writes it into the session's record.

use lazaret_gate::case::Case;
use lazaret_gate::decision::{Decision, Plan};
use lazaret_gate::proposal::Proposal;
use lazaret_runtime::SessionId;

use super::apply;
use crate::decide::summary;
use crate::failure::Failure;
use crate::ui::Ui;
use lazaret_session::cancel::Interrupt;
use lazaret_session::context::SessionContext;
use lazaret_session::engine::inventory::Inventory;
use lazaret_session::store::moment::Moment;
use lazaret_session::store::record::{KeepVolume, Outcome, Phase};
use lazaret_session::store::unlanded::{self, Unlanded};
use lazaret_session::store::{LockedSession, Store};

/// How the gate was settled, for the report and the exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// How it ended.
    pub outcome: Outcome,
    /// What `lazaret undo` would take back.
    pub undo: Option<String>,
}

/// What to do with the volume of a session once nothing in it is needed any more.
#[derive(Debug, Clone, Copy)]
pub enum Volume<'a> {
    /// Remove it from this engine, unless the session keeps it.
    Remove(&'a SessionContext<'a>),
    /// Leave it: the engine can't be reached now.
    Keep,
}

impl<'a> Volume<'a> {
    /// Returns where a session's volume is to be removed; `None` where it stays.
    fn goes(self, session: &LockedSession) -> Option<&'a SessionContext<'a>> {
        let record = session.record();
        match (self, record.keep) {
            (Self::Remove(site), KeepVolume::UntilSettled) if record.commits.is_empty() => {
                Some(site)
            }
            (Self::Remove(_) | Self::Keep, _) => None,
        }
    }
}

/// Carries a decision out.
///
/// # Errors
/// When applying fails: the workspace is as it was then, and the changes are kept.
pub fn settle(
    store: &Store,
    session: &mut LockedSession,
    case: &Case,
    decision: Decision,
    volume: Volume<'_>,
    ui: &Ui,
    interrupt: &Interrupt,
) -> Result<Settled, Failure> {
    let id = session.record().id.clone();
    let outcome = match decision {
        Decision::Apply(plan) => {
            apply::apply(store, session, case, &plan, ui, interrupt)?;
            tell(&plan, &id, ui);
            let outcome = match session.record().commits.is_empty() {
                true => Outcome::Applied,
                false => Outcome::Kept,
            };
            if plan.left + plan.held > 0 || outcome == Outcome::Kept {
                // The rest is not lost: what is applied already counts as unchanged then.
                session.update(|record| {
                    record.phase = Phase::Collected;
                    record.outcome = Some(outcome);
                })?;
                // Nothing but the quarantine is needed for what waits to be allowed.
                if let (0, Some(site)) = (plan.left, volume.goes(session)) {
                    remove_belongings(session, site, ui);
                }
                if outcome == Outcome::Kept {
                    tell_commits(session, ui);
                }
                return Ok(Settled {
                    outcome,
                    undo: Some(id.to_string()),
                });
            }
            outcome
        }
        Decision::Nothing if !session.record().commits.is_empty() => {
            tell_commits(session, ui);
            Outcome::Kept
        }
        Decision::Nothing => {
            ui.status("nothing to apply");
            Outcome::Nothing
        }
        Decision::Discard => Outcome::Discarded,
        Decision::Reject => {
            let why = case.whole().and_then(rejection);
            session.update(|record| record.rejection = why)?;
            ui.hint(&format!(
                "Nothing reached the workspace: `lazaret recover {id}` collects the changes again, `lazaret discard {id}` throws them away."
            ));
            Outcome::Rejected
        }
        Decision::Keep(reason) => {
            let record = session.record();
            let and = match record.commits.is_empty() {
                true => String::new(),
                false => format!("; and {}", record.commits),
            };
            ui.status(&format!("kept as session {id}: {reason}{and}"));
            ui.hint(&format!(
                "Look with `lazaret review {id}`, or with `lazaret diff {id}` and then `lazaret apply {id}` or `lazaret discard {id}`."
            ));
            if !record.commits.is_empty() {
                ui.hint(&unlanded::hint(&record.commits, &id, &record.profile));
            }
            Outcome::Kept
        }
    };
    finish(session, outcome, volume, ui)?;
    let undo = (outcome == Outcome::Applied).then(|| id.to_string());
    Ok(Settled { outcome, undo })
}

/// Says that commits wait, and what can be done with them.
fn tell_commits(session: &LockedSession, ui: &Ui) {
    let record = session.record();
    let id = &record.id;
    ui.status(&format!("kept as session {id}: {}", record.commits));
    ui.hint(&unlanded::hint(&record.commits, id, &record.profile));
}

/// Returns what a batch is rejected for: the code and the reason.
fn rejection(proposal: &Proposal) -> Option<(String, String)> {
    let mut findings = proposal.findings().iter();
    // Only what rejects says what is to be done about the batch.
    let why = findings.find(|finding| finding.hint.is_some())?;
    let reason = format!("{}: {}", why.subject, why.message);
    Some((why.code.to_owned(), reason))
}

/// Says what was applied and what was not.
fn tell(plan: &Plan, id: &SessionId, ui: &Ui) {
    let changes = plan.approved.changes();
    let rest = plan.all.saturating_sub(changes.len());
    let left = match rest {
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

/// Writes the outcome down and removes what is not needed any more.
///
/// # Errors
/// When the record can't be written.
pub fn finish(
    session: &mut LockedSession,
    outcome: Outcome,
    volume: Volume<'_>,
    ui: &Ui,
) -> Result<(), Failure> {
    let phase = match outcome {
        Outcome::Applied | Outcome::Nothing | Outcome::Discarded | Outcome::Undone => {
            Phase::Settled
        }
        Outcome::Kept => Phase::Collected,
        Outcome::Rejected => Phase::Rejected,
    };
    session.update(|record| {
        record.outcome = Some(outcome);
        record.phase = phase;
        if phase == Phase::Settled {
            record.settled_at(Moment::now());
        }
        if outcome == Outcome::Discarded {
            // What the volume holds is of no use any more.
            record.reset = true;
            record.commits = Unlanded::default();
        }
    })?;
    if phase == Phase::Settled {
        session.remove_collection()?;
        if let Some(site) = volume.goes(session) {
            remove_belongings(session, site, ui);
        }
    }
    Ok(())
}

/// What can't be removed now is left to `prune`, with a word about it; how the run ended
/// does not change by it (FLT-24).
fn remove_belongings(session: &LockedSession, site: &SessionContext<'_>, ui: &Ui) {
    site.chores.finish();
    let removed = Inventory::of_store(&*site.engine, &site.store_id).and_then(|all| {
        let all = all.of(&session.record().owner());
        all.surveyed(session.record()).remove(&*site.engine)
    });
    if let Err(error) = removed {
        let volume = session.record().volume();
        let words = lazaret_tree::escape(error.to_string().as_bytes());
        ui.warn(&format!("volume {volume} could not be removed: {words}"));
        ui.hint("`lazaret prune` tries again.");
    }
}
