//! Collects a session that was broken off, before it is captured and removed.

use crate::app::App;
use crate::failure::{Failure, FailureKind};
use crate::image;
use crate::session_access::session_context;
use lazaret_session::engine::resources::VolumePresence;
use lazaret_session::lifecycle::open::standing;
use lazaret_session::lifecycle::recover::{RecoverOutcome, resume};
use lazaret_session::store::record::{Outcome, Phase};
use lazaret_session::store::{LockedSession, Store};

/// Collects a session whose changes are in its volume only, as `lazaret recover` does. One that
/// has no volume any more is returned as it is, and so is one that was collected.
///
/// # Errors
/// When it can't be collected; a batch that breaks a rule is no error.
pub(crate) fn take_up(
    session: LockedSession,
    store: &Store,
    app: &App,
) -> Result<LockedSession, Failure> {
    if !needs_collecting(&session) {
        return Ok(session);
    }
    let detected = app.engine_of(session.record())?;
    if standing(&*detected.engine, session.record())? == VolumePresence::Missing {
        return Ok(session);
    }
    let exporter = image::ensure(app, &detected, "porter")?.pinned;
    let cx = session_context(app, store, detected);
    let id = session.record().id.clone();
    app.ui.status(&format!("collecting session {id}"));
    let (mut session, outcome) = match resume(&cx, exporter, session)? {
        RecoverOutcome::Collected(session) => (session, Outcome::Kept),
        RecoverOutcome::Rejected(session) => (session, Outcome::Rejected),
        _ => {
            let text = format!("session {id} was taken up by another launcher");
            return Err(Failure::message(FailureKind::Refused, text));
        }
    };
    session.update(|record| record.outcome = Some(outcome))?;
    Ok(session)
}

/// Whether what the session holds was never collected, or its collection broke a rule.
fn needs_collecting(session: &LockedSession) -> bool {
    match session.record().phase {
        Phase::Running | Phase::Stopped => true,
        Phase::Rejected => !is_collected(session),
        _ => false,
    }
}

/// Whether the files of a rejected session were collected: then the rules of the gate rejected
/// them.
pub(super) fn is_collected(session: &LockedSession) -> bool {
    session.record().surveyed && session.dir().file("quarantine").is_dir()
}
