//! The gate of a session whose command runs on.

use lazaret_gate::case::Case;
use lazaret_gate::decision::{Decision, KeepReason};
use lazaret_gate::ignored::IgnoredFiles;
use lazaret_tree::escape;

use super::running::Running;
use super::waiting::AgreedDecision;
use crate::app::App;
use crate::decide::case::preview;
use crate::decide::{allowlist, settle};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use lazaret_session::live::view::LiveSnapshot;
use lazaret_session::porter::export::BatchRejection;
use lazaret_session::settle::live::{LiveContext, apply_live};
use lazaret_session::store::Store;

/// Has what a session has changed up to now decided on, and does that. Its command is paused while
/// its files are read, not while a person decides: what is applied is what was read.
///
/// # Errors
/// The session can't be looked at, or what was decided not be done.
pub(crate) fn decide_live(
    running: Running,
    ignored: IgnoredFiles,
    store: &Store,
    app: &App,
    decide: impl FnOnce(&Case) -> Result<AgreedDecision, Failure>,
) -> Result<ExitCode, Failure> {
    let id = running.record.id.clone();
    let refused = |text: String| Failure::message(FailureKind::Refused, text);
    let allowlist = allowlist::load(&app.env)?;
    let cx = running.cx(store, app)?;
    let mut live_view = running.view(&cx)?;
    let LiveSnapshot::Taken(seen) = live_view.snapshot()? else {
        return Err(refused(format!(
            "the command of session {id} has just ended"
        )));
    };
    let collection = seen.found.map_err(|BatchRejection { code, reason }| {
        let reason = escape(reason.as_bytes());
        refused(format!(
            "as it is, the batch would be rejected: {code}: {reason}"
        ))
        .hinted("The command still runs; it may yet clean up.")
    })?;
    let case = preview(&live_view, collection, ignored, &allowlist, &app.env)?;
    let AgreedDecision { decision, approver } = decide(&case)?;
    match &decision {
        Decision::Apply(plan) => {
            let context = LiveContext {
                store,
                approver,
                events: &app.events,
                cancel: &app.cancel,
            };
            if let Some(cause) = apply_live(live_view.session(), &case, plan, context)? {
                let cause = escape(cause.as_bytes());
                app.ui.warn(&format!(
                    "the staging directory could not be removed: {cause}"
                ));
            }
            settle::tell_applied(plan, live_view.record(), &app.ui);
            allowlist::remember(allowlist, decision.remembered(), &app.ui);
            Ok(ExitCode::SUCCESS)
        }
        Decision::NothingToApply | Decision::Landed => {
            app.ui.status("nothing to apply");
            Ok(ExitCode::SUCCESS)
        }
        Decision::Keep(reason) => {
            app.ui.status(&format!("left in session {id}: {reason}"));
            Ok(match reason {
                KeepReason::Chosen => ExitCode::SUCCESS,
                _ => ExitCode::KEPT,
            })
        }
        Decision::Reject => Err(refused(format!(
            "nothing of session {id} can be applied as it is"
        ))
        .hinted("The command still runs; it may yet clean up.")),
        Decision::Discard => Err(refused(format!("the command of session {id} runs")).hinted(
            format!(
                "`lazaret stop {id}` ends it; then `lazaret discard {id}` removes its changes."
            ),
        )),
    }
}
