//! Captures what waits in a session before a verb destroys it.

mod plan;
mod take_up;

use lazaret_gate::case::Case;
use lazaret_gate::decision::Decision;
use lazaret_runtime::SessionId;

use crate::app::App;
use crate::failure::{Failure, FailureKind};
use crate::ui::Ui;
use lazaret_session::captures::CaptureError;
use lazaret_session::store::record::{KeepVolume, Record};
use lazaret_session::store::{LockedSession, Store};

pub(crate) use plan::CapturePlan;
pub(crate) use take_up::take_up;

/// How long a capture is kept at least, in words.
const KEPT_FOR: &str = "30 days";

/// Captures what waits in a session, if the decision is the end of it, and says so: what is
/// discarded, or what git ignores and goes with the volume.
///
/// # Errors
/// When it can't be captured: then nothing may be destroyed.
pub(crate) fn before_loss(
    decision: &Decision,
    case: &Case,
    session: &LockedSession,
    store: &Store,
    app: &App,
) -> Result<(), Failure> {
    let is_discarded = matches!(decision, Decision::Discard);
    if !is_discarded && !loses_ignored(decision, case, session.record()) {
        return Ok(());
    }
    let id = &session.record().id;
    let captured = CapturePlan::of(session, store, app)
        .and_then(|plan| {
            let losses = plan.losses();
            losses
                .iter()
                .for_each(|losses| app.ui.warn(&format!("session {id}: {losses}")));
            plan.carry_out(session, store, app)
        })
        .map_err(|failure| match is_discarded {
            true => not_captured(failure, id, "discard"),
            false => failure
                .context(format!(
                    "session {id} stays: what git ignores in it can't be captured"
                ))
                .hinted(format!(
                    "`lazaret apply {id} --with-ignored` offers it with the rest."
                )),
        })?;
    let Some(capture) = captured else {
        return Ok(());
    };
    match is_discarded {
        true => tell(&capture, &app.ui),
        false => app.ui.hint(&format!(
            "What git ignores is kept for {KEPT_FOR}: `lazaret recover --captures {capture}`, then \
             `lazaret apply {capture} --with-ignored`."
        )),
    }
    Ok(())
}

/// Whether files that git ignores go with the volume when a decision was carried out.
fn loses_ignored(decision: &Decision, case: &Case, record: &Record) -> bool {
    let is_end = match decision {
        Decision::Apply(plan) => plan.left + plan.held == 0,
        Decision::NothingToApply => true,
        Decision::Landed | Decision::Keep(_) | Decision::Reject | Decision::Discard => false,
    };
    let is_volume_removed = record.keep == KeepVolume::UntilSettled && record.commits.is_empty();
    is_end && is_volume_removed && !case.ignored.places.is_empty()
}

/// Says that something was captured.
pub(crate) fn tell(capture: &SessionId, ui: &Ui) {
    ui.hint(&format!(
        "What waited is kept for {KEPT_FOR}: `lazaret recover --captures {capture}` brings it back."
    ));
}

/// Says that a session stays, and how `verb` removes it without a capture.
pub(crate) fn not_captured(failure: Failure, id: &SessionId, verb: &str) -> Failure {
    failure
        .context(format!(
            "session {id} stays: what waits in it can't be captured"
        ))
        .hinted(format!(
            "`lazaret {verb} {id} --no-capture` removes it for good."
        ))
}

impl From<CaptureError> for Failure {
    fn from(error: CaptureError) -> Self {
        match error {
            CaptureError::Pack(error) => error.into(),
            CaptureError::Io(error) => error.into(),
            CaptureError::Store(error) => error.into(),
            CaptureError::State(error) => error.into(),
            error @ CaptureError::NotFound(_) => Self::new(FailureKind::Refused, error)
                .hinted("`lazaret recover --captures` lists the captures."),
        }
    }
}
