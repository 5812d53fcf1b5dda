//! Settles a session of which commits were landed, if nothing of it waits any more.

use lazaret_gate::ignored::IgnoredFiles;
use lazaret_tree::Change;

use crate::app::App;
use crate::decide::case::open_case;
use crate::decide::settle::{finish, tell_landed};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::session_access::session_context;
use lazaret_gate::choices::Choices;
use lazaret_gate::proposal::ItemState;
use lazaret_gate::unlanded::UnlandedKind;
use lazaret_session::settle::VolumeDisposal;
use lazaret_session::store::history::applies;
use lazaret_session::store::record::Outcome;
use lazaret_session::store::{LockedSession, Store};

/// Returns the changes of files that the workspace has not.
pub(super) fn open_changes(
    session: &LockedSession,
    env: &Environment,
) -> Result<Vec<Change>, Failure> {
    let case = open_case(session, IgnoredFiles::Stay, env)?;
    let whole = case.propose(&Choices::all())?;
    let items = whole.items().iter();
    let open = items.filter(|item| item.state != ItemState::AlreadyApplied);
    let changes = open.filter_map(|item| case.change(item.path()).cloned());
    Ok(changes.collect())
}

/// Settles the session if nothing of it waits any more: no commit, and no change of a file that
/// nothing landed holds.
///
/// # Errors
/// When the workspace is not where it was, or the disk fails.
pub(crate) fn settle(
    session: &mut LockedSession,
    store: &Store,
    app: &App,
) -> Result<Option<Outcome>, Failure> {
    let open = open_changes(session, &app.env)?.len();
    let record = session.record();
    let id = record.id.clone();
    if !record.commits.is_empty() {
        app.ui
            .status(&format!("session {id} holds still: {}", record.commits));
        if record
            .commits
            .iter()
            .any(|one| one.kind == UnlandedKind::Reflog)
        {
            app.ui.hint(&format!(
                "`lazaret commits land {id} --lost` lands what only a reflog holds; `lazaret \
                 discard {id}` throws away what waits."
            ));
        }
        return Ok(None);
    }
    let outcome = match (open, &record.landed_as) {
        (0, _) if applies(session.dir())?.is_empty() => Outcome::Nothing,
        (0, _) => Outcome::Applied,
        (_, Some(_)) => {
            tell_landed(record, &app.ui);
            Outcome::Landed
        }
        (number, None) => {
            app.ui.hint(&format!(
                "{number} changes of files wait: `lazaret apply {id}`, or `lazaret discard {id}`."
            ));
            return Ok(None);
        }
    };
    let detected = app.engine_of(record);
    let cx = detected
        .ok()
        .map(|detected| session_context(app, store, detected));
    let volume = cx
        .as_ref()
        .map_or(VolumeDisposal::Keep, VolumeDisposal::Remove);
    finish(session, outcome, volume, &app.ui)?;
    Ok(Some(outcome))
}
