//! `lazaret rm`.

use std::collections::BTreeMap;

use lazaret_runtime::{Engine, SessionId};
use lazaret_transfer::HistoryState;

use crate::app::App;
use crate::captures::{CapturePlan, not_captured, take_up, tell};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::session_access::named::named;
use lazaret_session::engine::inventory::Inventory;
use lazaret_session::store::history::applies;
use lazaret_session::store::record::{Phase, Record};
use lazaret_session::store::unlanded::Unlanded;
use lazaret_session::store::{LockedSession, Store, StoreError};

/// Remove sessions; refuses if one has changes that you have not applied or discarded
///
/// A session that is in use, or whose apply or undo was cut off, stays even with --force. What
/// waits in one, files and commits, is captured before it is removed: `lazaret recover --captures`
/// lists such captures and restores them, `lazaret prune` removes those older than 30 days. One that
/// was broken off is collected first; if that breaks a rule, its commits alone are captured.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Sessions
    #[arg(value_name = "NAME", required = true)]
    pub sessions: Vec<SessionId>,
    /// Remove even sessions with changes that wait, or that `undo` took back
    #[arg(long)]
    pub force: bool,
    /// Keep no capture: what waits is gone for good
    #[arg(long, requires = "force")]
    pub no_capture: bool,
}

pub(crate) fn run(args: Args, app: &App) -> Result<ExitCode, Failure> {
    let store = Store::open(&app.env.state_dir()?)?;
    // All or none of the names: a refusal halfway would leave the user guessing.
    let mut sessions = BTreeMap::new();
    for name in &args.sessions {
        let id = &named(&store, name)?;
        if !sessions.contains_key(id) {
            sessions.insert(id.clone(), lock(&store, id)?);
        }
    }
    for (id, session) in &sessions {
        if !args.force {
            check(id, session)?;
        }
    }
    for (id, session) in sessions {
        // Without its engine nothing is removed, and so nothing is captured.
        let detected = app.engine_of(session.record())?;
        let ready = match args.no_capture {
            true => Ready::uncaptured(session),
            false => Ready::captured(session, &store, app)
                .map_err(|failure| not_captured(failure, &id, "rm --force"))?,
        };
        remove(&store, ready.session, &*detected.engine)?;
        let commits = with(&ready.commits);
        app.ui.status(&format!("removed {id}{commits}"));
        let capture = ready.capture.iter();
        capture.for_each(|capture| tell(capture, &app.ui));
    }
    Ok(ExitCode::SUCCESS)
}

/// A session that can be removed.
struct Ready {
    session: LockedSession,
    /// What was committed in it.
    commits: Unlanded,
    /// What keeps it.
    capture: Option<SessionId>,
}

impl Ready {
    /// Takes a session of which nothing is kept.
    fn uncaptured(session: LockedSession) -> Self {
        Self {
            commits: session.record().commits.clone(),
            session,
            capture: None,
        }
    }

    /// Captures what waits in a session, and says what can't be kept.
    ///
    /// # Errors
    /// When it can't be captured: then the session stays.
    fn captured(session: LockedSession, store: &Store, app: &App) -> Result<Self, Failure> {
        let session = take_up(session, store, app)?;
        let plan = CapturePlan::of(&session, store, app)?;
        if let Some(losses) = plan.losses() {
            app.ui
                .warn(&format!("session {}: {losses}", session.record().id));
        }
        let capture = plan.carry_out(&session, store, app)?;
        let commits = plan.commits().unwrap_or(&session.record().commits).clone();
        Ok(Self {
            commits,
            session,
            capture,
        })
    }
}

/// Says what goes along with a session.
pub(super) fn with(commits: &Unlanded) -> String {
    match commits.is_empty() {
        true => String::new(),
        false => format!(", and with it {commits}"),
    }
}

/// Locks a session that may be removed.
///
/// # Errors
/// When it is in use, or was broken off while the workspace was being changed.
pub(crate) fn lock(store: &Store, id: &SessionId) -> Result<LockedSession, Failure> {
    let session = match store.lock(id) {
        Err(error @ StoreError::Busy { .. }) => {
            return Err(Failure::from(error).hinted(format!(
                "Wait for it, or end it: `lazaret stop {id}`, or Ctrl-C where it runs."
            )));
        }
        other => other?,
    };
    if session.record().phase == Phase::Applying {
        let text = format!("session {id} was broken off while it applied changes");
        return Err(Failure::message(FailureKind::Refused, text).hinted(format!(
            "Repair the workspace first: `lazaret recover {id}`."
        )));
    }
    Ok(session)
}

/// Checks that removing the session destroys nothing that exists nowhere else (P10).
fn check(id: &SessionId, session: &LockedSession) -> Result<(), Failure> {
    if holds_work(session.record()) {
        let commits = &session.record().commits;
        let text = match commits.is_empty() {
            true => format!("session {id} holds changes that were never applied or discarded"),
            false => format!("session {id} holds {commits}, which its workspace has not"),
        };
        return Err(Failure::message(FailureKind::Refused, text).hinted(format!(
            "Look with `lazaret diff {id}`; `lazaret rm --force {id}` removes the session, and \
             keeps what waits as a capture."
        )));
    }
    let applies = applies(session.dir())?;
    if applies
        .iter()
        .any(|apply| apply.state == HistoryState::Undone)
    {
        let text = format!("session {id} holds changes that `undo` took back");
        return Err(Failure::message(FailureKind::Refused, text).hinted(format!(
            "`lazaret undo --redo {id}` does them again; `lazaret rm --force {id}` removes them for good."
        )));
    }
    Ok(())
}

/// Whether changes wait in the session.
fn holds_work(record: &Record) -> bool {
    match record.phase {
        Phase::Preparing | Phase::Settled => false,
        // What waits, waited before the volume was brought up to date.
        Phase::Syncing => record.phase_before != Some(Phase::Settled),
        Phase::Running | Phase::Stopped | Phase::Collected | Phase::Rejected | Phase::Applying => {
            true
        }
    }
}

/// Removes a session: what it has in its engine first, the record last, so that what could
/// not be removed is still named by a session.
///
/// # Errors
/// The engine's, or the disk's.
pub(crate) fn remove(
    store: &Store,
    session: LockedSession,
    engine: &dyn Engine,
) -> Result<(), Failure> {
    Inventory::of_store(engine, store.id())?
        .of(&session.record().owner())
        .surveyed(session.record())
        .remove(engine)?;
    session.remove()?;
    Ok(())
}
