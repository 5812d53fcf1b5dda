//! What the verbs of a live session share: a session that a keeper has.

use lazaret_runtime::SessionId;

use crate::failure::{Failure, FailureKind};
use lazaret_session::keeper::connection::{Connection, KeeperError};
use lazaret_session::keeper::message::{Accepted, KeeperStatus, RefusalCode, Request};
use lazaret_session::store::record::Phase;
use lazaret_session::store::status::State;
use lazaret_session::store::{SessionDir, Store};

/// How a session gets a network.
pub(crate) const NETWORK_HINT: &str =
    "A profile gives one by [network] mode = \"allowlist\"; see docs/reference/network.md.";

/// Asks the keeper of a session for something.
///
/// # Errors
/// No keeper has it, or the keeper refuses.
pub(crate) fn ask(
    store: &Store,
    dir: &SessionDir,
    request: &Request,
) -> Result<(Connection, Accepted), Failure> {
    match Connection::ask(dir, request) {
        Ok(Some(asked)) => Ok(asked),
        Ok(None) => Err(not_live(store, dir)),
        Err(error) => Err(unanswered(dir.id(), error)),
    }
}

/// Returns what the keeper of a session says of it; `None` if it has none, or that says nothing.
pub(crate) fn status(dir: &SessionDir) -> Option<KeeperStatus> {
    let asked = Connection::ask(dir, &Request::Status).ok().flatten();
    asked.and_then(|(_, accepted)| accepted.status)
}

/// Says why no keeper has a session, and what to do.
pub(crate) fn not_live(store: &Store, dir: &SessionDir) -> Failure {
    let id = dir.id();
    let refuse = |text: String| Failure::message(FailureKind::WrongState, text);
    let record = match dir.record() {
        Ok(record) => record,
        Err(error) => return error.into(),
    };
    match (store.is_live(id), record.phase) {
        (Ok(true), Phase::Running) => {
            refuse(format!("session {id} was not started by `lazaret start`"))
                .hinted("Only a session of `lazaret start` can be reached from elsewhere.")
        }
        (Ok(true), _) => {
            refuse(format!("no command of session {id} runs now")).hinted("Try again in a moment.")
        }
        (_, Phase::Running | Phase::Stopped) => refuse(format!("session {id} was broken off"))
            .hinted(format!("Take it up with `lazaret recover {id}`.")),
        _ => {
            let state = State::at_rest(&record).as_str();
            refuse(format!("no command of session {id} runs: it is {state}")).hinted(format!(
                "`lazaret start {} --name {id}` starts one.",
                record.profile
            ))
        }
    }
}

/// Says why a keeper did not do what it was asked for.
pub(crate) fn unanswered(id: &SessionId, error: KeeperError) -> Failure {
    match error.refusal() {
        Some(RefusalCode::Driven) => Failure::new(FailureKind::Driven, error).hinted(format!(
            "`lazaret attach {id} --take` takes over, `--read-only` looks on."
        )),
        Some(RefusalCode::Ending) => Failure::new(FailureKind::WrongState, error)
            .hinted(format!("`lazaret wait {id}` waits for its end.")),
        Some(RefusalCode::Paused) => Failure::new(FailureKind::WrongState, error)
            .hinted(format!("`lazaret limits {id}` shows and changes them.")),
        Some(RefusalCode::NoNetwork) => {
            Failure::new(FailureKind::Refused, error).hinted(NETWORK_HINT)
        }
        _ => error.into(),
    }
}
