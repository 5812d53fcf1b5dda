//! What the verbs of the gate share: a stored session that waits for a decision.

use std::path::Path;

use lazaret_gate::case::Case;
use lazaret_gate::decision::Decision;
use lazaret_gate::ignored::IgnoredFiles;
use lazaret_runtime::SessionId;

use super::session_context;
use crate::app::App;
use crate::captures::before_loss;
use crate::decide::case::open_case;
use crate::decide::{allowlist, settle};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::report::Report;
use crate::resolve::workspace;
use crate::ui::OutputFormat;
use lazaret_session::audit::event::Approver;
use lazaret_session::settle::{SettleContext, SettleResult, VolumeDisposal};
use lazaret_session::store::record::{Outcome, Phase, Record, identity};
use lazaret_session::store::status::State;
use lazaret_session::store::{LockedSession, Store};

/// Locks a collected session and judges it, by what the user allowed for good too.
pub(crate) fn open(
    store: &Store,
    id: &SessionId,
    ignored: IgnoredFiles,
    app: &App,
) -> Result<(LockedSession, Case), Failure> {
    let session = store.lock(id)?;
    match session.record().phase {
        Phase::Collected => {
            let allowlist = allowlist::load(&app.env)?;
            let mut case = open_case(&session, ignored, &app.env)?;
            allowlist.tell(&mut case)?;
            Ok((session, case))
        }
        _ => Err(not_waiting(session.record())),
    }
}

/// Makes a directory the workspace of a session whose own was moved or replaced. What is in it
/// is compared with what was copied in, as always: what differs is a conflict.
pub(crate) fn adopt(store: &Store, id: &SessionId, dir: &Path, app: &App) -> Result<(), Failure> {
    let mut session = store.lock(id)?;
    if session.record().phase != Phase::Collected {
        return Err(not_waiting(session.record()));
    }
    let workspace = workspace::open(dir, &app.env)?;
    session.update(|record| {
        record.workspace = workspace.path().to_path_buf();
        record.workspace_identity = identity(workspace.identity());
    })?;
    let place = app.ui.place(workspace.path());
    app.ui.status(&format!("session {id} goes on with {place}"));
    Ok(())
}

/// A decision, and who agrees to what it applies.
#[derive(Debug)]
pub(crate) struct AgreedDecision {
    pub(crate) decision: Decision,
    pub(crate) approver: Approver,
}

/// What a person decided at a terminal.
impl From<Decision> for AgreedDecision {
    fn from(decision: Decision) -> Self {
        Self {
            decision,
            approver: Approver::Person,
        }
    }
}

/// Carries a decision out, and says how it ended.
pub(crate) fn settle(
    app: &App,
    store: &Store,
    session: &mut LockedSession,
    case: &Case,
    decision: AgreedDecision,
    mut report: Report,
) -> Result<SettleResult, Failure> {
    let AgreedDecision { decision, approver } = decision;
    let wanted = decision.remembered();
    // Before anything is applied: a file that can't be read is no reason to lose it.
    let allowlist = allowlist::load(&app.env)?;
    // The volume goes with the session's last use; an engine that is away is no reason
    // not to apply what lies on this machine already.
    let detected = app.engine_of(session.record());
    let cx = detected
        .ok()
        .map(|detected| session_context(app, store, detected));
    let volume = cx.as_ref();
    let context = SettleContext {
        store,
        volume: volume.map_or(VolumeDisposal::Keep, VolumeDisposal::Remove),
        approver,
        events: &app.events,
        cancel: &app.cancel,
    };
    before_loss(&decision, case, session, store, app)?;
    let settled = settle::settle(session, case, &decision, context, &app.ui)?;
    allowlist::remember(allowlist, wanted, &app.ui);
    report.settled(&settled);
    if app.ui.format() == OutputFormat::Json {
        app.ui.json(&report);
    }
    Ok(settled)
}

/// Returns the exit code of a verb that decides on a session's files: those are applied, even if
/// commits wait.
pub(crate) fn exit_code(settled: &SettleResult) -> ExitCode {
    match settled.is_applied && settled.outcome == Outcome::Kept {
        true => ExitCode::SUCCESS,
        false => ExitCode::of_outcome(settled.outcome),
    }
}

/// Says why a session has nothing to decide on, and what to do.
pub(crate) fn not_waiting(record: &Record) -> Failure {
    let id = &record.id;
    let refuse = |text: String| Failure::message(FailureKind::Refused, text);
    match record.phase {
        Phase::Preparing | Phase::Syncing | Phase::Running | Phase::Stopped | Phase::Applying => {
            refuse(format!("session {id} was broken off"))
                .hinted(format!("Take it up with `lazaret recover {id}`."))
        }
        Phase::Rejected => {
            let (code, reason) = record.rejection.clone().unwrap_or_default();
            let reason = lazaret_tree::escape(reason.as_bytes());
            refuse(format!(
                "the changes of session {id} were rejected: {code}: {reason}"
            ))
            .hinted(format!(
                "The volume {} is kept: `lazaret recover {id}` collects it again, `lazaret discard {id}` removes it.",
                record.volume()
            ))
        }
        Phase::Collected | Phase::Settled => refuse(format!(
            "session {id} has nothing to decide on: it is {}",
            State::at_rest(record).as_str()
        )),
    }
}
