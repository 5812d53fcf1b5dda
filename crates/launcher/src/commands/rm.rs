//! `lazaret rm`.

use lazaret_runtime::SessionId;

use crate::context::Context;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::session::belongings::Belongings;
use crate::session::record::{Phase, Record};
use crate::session::store::{Store, StoreError};
use crate::session::unlanded::Unlanded;

/// Remove sessions; refuses while changes wait that nobody has seen
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Sessions
    #[arg(value_name = "NAME", required = true)]
    pub sessions: Vec<SessionId>,
    /// Remove even with changes that nobody has seen
    #[arg(long)]
    pub force: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<ExitCode, Failure> {
    let store = Store::open(&context.env.state_dir()?)?;
    // All or none of the names: a refusal halfway would leave the user guessing.
    for id in &args.sessions {
        if args.force {
            store.find(id)?;
        } else if holds_work(&store.find(id)?.record()?) {
            let commits = &store.find(id)?.record()?.commits;
            let text = match commits.is_empty() {
                true => format!("session {id} holds changes that were never applied or discarded"),
                false => format!("session {id} holds {commits}, which its workspace has not"),
            };
            return Err(Failure::message(FailureKind::Refused, text).hinted(format!(
                "Look with `lazaret diff {id}`; `lazaret rm --force {id}` removes them for good."
            )));
        }
    }
    for id in &args.sessions {
        let commits = store.find(id)?.record().map(|record| record.commits);
        remove(&store, id, context)?;
        let commits = with(&commits.unwrap_or_default());
        context.ui.status(&format!("removed {id}{commits}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what goes along with a session.
pub(super) fn with(commits: &Unlanded) -> String {
    match commits.is_empty() {
        true => String::new(),
        false => format!(", and with it {commits}"),
    }
}

/// Whether removing the session would destroy something that exists nowhere else (P10).
fn holds_work(record: &Record) -> bool {
    match record.phase {
        Phase::Preparing | Phase::Settled => false,
        // What waits, waited before the volume was brought up to date.
        Phase::Syncing => record.before != Some(Phase::Settled),
        Phase::Running | Phase::Stopped | Phase::Collected | Phase::Rejected | Phase::Applying => {
            true
        }
    }
}

/// Removes a session: what it has in its engine first, the record last, so that what could
/// not be removed is still named by a session.
pub(crate) fn remove(store: &Store, id: &SessionId, context: &Context) -> Result<(), Failure> {
    let session = match store.lock(id) {
        Err(StoreError::Busy { id }) => {
            return Err(Failure::from(StoreError::Busy { id })
                .hinted("Wait for it, or end it with Ctrl-C."));
        }
        other => other?,
    };
    if session.record().phase == Phase::Applying {
        let text = format!("session {id} was broken off while it applied changes");
        return Err(Failure::message(FailureKind::Refused, text).hinted(format!(
            "Repair the workspace first: `lazaret recover {id}`."
        )));
    }
    let detected = context.engine_of(session.record())?;
    Belongings::of_store(&*detected.engine, store.id())?
        .of(&session.record().owner())
        .surveyed(session.record())
        .remove(&*detected.engine)?;
    session.remove()?;
    Ok(())
}
