//! Applies what was approved: the only place that starts a transaction on a workspace.

use std::fs::File;
use std::time::{Duration, Instant};

use lazaret_transfer::{ApplyError, Transaction, WorkspaceDir};

use super::case::Case;
use super::decide::Plan;
use crate::failure::{Failure, FailureKind};
use crate::interrupt::Interrupt;
use crate::session::known::write_settled;
use crate::session::record::{KeepVolume, Phase, identity};
use crate::session::store::{LockedSession, Store};
use crate::ui::Ui;

/// Writes the approved changes into the workspace, all of them or none.
///
/// # Errors
/// When another lazaret applies to the same workspace, a file was changed meanwhile, or the
/// disk refuses. The workspace is as it was before then.
pub fn apply(
    store: &Store,
    session: &mut LockedSession,
    case: &Case,
    plan: &Plan,
    ui: &Ui,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let _lock = wait_for_turn(store, case.contents.workspace(), ui, interrupt)?;
    let number = session.dir().next_apply()?;
    let journal = session.dir().journal(number);
    let record = session.record();
    let ends_it = plan.left + plan.held == 0
        && record.keep == KeepVolume::UntilSettled
        && record.commits.is_empty();
    if !ends_it {
        write_settled(session.dir(), number, &plan.taken)?;
    }
    session.update(|record| {
        record.phase = Phase::Applying;
        record.applying = Some(number);
        record.left_out = (plan.left + plan.held) as u64;
        record.undone.clear();
    })?;
    let applied = Transaction::prepare(
        case.contents.workspace(),
        plan.approved.changes(),
        case.contents.quarantine(),
        &journal,
    )
    .and_then(Transaction::commit);
    match applied {
        Ok(receipt) => {
            if let Some(cause) = receipt.cleanup {
                let cause = lazaret_transfer::escape(cause.as_bytes());
                ui.warn(&format!(
                    "the staging directory could not be removed: {cause}"
                ));
            }
            Ok(())
        }
        // The record stays at `applying`: `recover` has to finish the rollback.
        Err(error @ ApplyError::Unfinished { .. }) => Err(error.into()),
        Err(error) => {
            session.update(|record| record.phase = Phase::Collected)?;
            Err(error.into())
        }
    }
}

/// How long an apply waits for another one to the same workspace.
const PATIENCE: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(50);

/// Two applies to one workspace happen one after the other. What the first one changed, the
/// second one meets as a conflict, or not at all.
pub(crate) fn wait_for_turn(
    store: &Store,
    workspace: &WorkspaceDir,
    ui: &Ui,
    interrupt: &Interrupt,
) -> Result<File, Failure> {
    let workspace = identity(workspace.identity());
    let give_up = Instant::now() + PATIENCE;
    let mut said = false;
    loop {
        if let Some(lock) = store.lock_workspace(workspace)? {
            return Ok(lock);
        }
        if !said {
            ui.status("waiting for another lazaret that changes this workspace");
            said = true;
        }
        if Instant::now() >= give_up {
            let text = "another lazaret is changing this workspace";
            return Err(Failure::message(FailureKind::Refused, text)
                .hinted("Try again when it has finished; the changes are kept."));
        }
        interrupt.sleep(TICK)?;
    }
}
