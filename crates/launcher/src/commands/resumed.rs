//! What the verbs of the gate share: a stored session that waits for a decision.

use lazaret_runtime::SessionId;

use super::ls;
use crate::failure::{Failure, FailureKind};
use crate::gate::case::Case;
use crate::session::record::{Phase, Record};
use crate::session::store::{LockedSession, Store};

/// Locks a collected session and judges it.
pub(crate) fn open(store: &Store, id: &SessionId) -> Result<(LockedSession, Case), Failure> {
    let session = store.lock(id)?;
    match session.record().phase {
        Phase::Collected => {
            let case = Case::open(&session)?;
            Ok((session, case))
        }
        _ => Err(not_waiting(session.record())),
    }
}

/// Says why a session has nothing to decide on, and what to do.
pub(crate) fn not_waiting(record: &Record) -> Failure {
    let id = &record.id;
    let refuse = |text: String| Failure::message(FailureKind::Refused, text);
    match record.phase {
        Phase::Preparing | Phase::Running | Phase::Stopped | Phase::Applying => {
            refuse(format!("session {id} was broken off"))
                .hinted(format!("Take it up with `lazaret recover {id}`."))
        }
        Phase::Rejected => {
            let (code, reason) = record.rejection.clone().unwrap_or_default();
            let reason = lazaret_transfer::escape(reason.as_bytes());
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
            ls::state(record)
        )),
    }
}
