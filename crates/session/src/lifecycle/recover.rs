//! Takes up sessions whose launcher is gone.

use std::time::{Duration, SystemTime};

use lazaret_image_builder::Pinned;
use lazaret_runtime::EngineError;
use lazaret_transfer::{
    ApplyError, HistoryState, NotRestored, RecoverError, Recovered, history_state, recover,
};

use crate::cancel::Interrupted;
use crate::context::SessionContext;
use crate::engine::inventory::{Inventory, SweepError};
use crate::engine::tags::KnownPrefixes;
use crate::lifecycle::collect::{CollectError, Collected};
use crate::lifecycle::leftovers::remove_leftovers;
use crate::lifecycle::merge_base::BaseTexts;
use crate::lifecycle::stop::{StopError, Stopped};
use crate::store::moment::Moment;
use crate::store::record::{KeepVolume, Outcome, Phase};
use crate::store::{LockedSession, Store, StoreError};

/// Why a session could not be taken up. It stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The user wants an end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// What an earlier command left could not be removed.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// The session could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its command could not be ended.
    #[error(transparent)]
    Stop(#[from] StopError),
    /// Its changes could not be collected.
    #[error(transparent)]
    Collect(#[from] CollectError),
    /// The journal of its apply can't be read.
    #[error(transparent)]
    DecisionLog(#[from] ApplyError),
    /// Its apply could not be finished.
    #[error(transparent)]
    Recover(#[from] RecoverError),
}

/// How long after a session was begun something of it may still be on its way.
const IN_FLIGHT: Duration = Duration::from_secs(120);

/// How long an engine has to finish what it was asked for.
const SECOND_LOOK: Duration = Duration::from_millis(700);

/// What became of a session that was taken up.
#[derive(Debug)]
pub enum RecoverOutcome {
    /// The command had not started: everything of it is removed.
    Removed,
    /// The volume was being brought up to date: the session is as it was before.
    SyncCutShort(LockedSession),
    /// The changes are collected and wait for the gate.
    Collected(LockedSession),
    /// The batch is rejected; the volume is kept.
    Rejected(LockedSession),
    /// An apply that was cut off is rolled back; the changes wait for the gate. Paths that
    /// another process changed meanwhile were left alone.
    RolledBack(LockedSession, Vec<NotRestored>),
    /// An apply that was cut off is complete.
    Applied(LockedSession),
    /// There was nothing to do.
    Unchanged(LockedSession),
}

/// A session as its last launcher left it, parsed from the phase in its record: the twin of
/// the lifecycle's states.
#[derive(Debug)]
enum Stored {
    /// Its command had not started.
    Preparing(LockedSession),
    /// Its volume was being updated. It goes back to the phase.
    Updating(LockedSession, Phase),
    /// Its command may run, or has ended; what it changed is in the volume only.
    Uncollected(LockedSession),
    /// Its batch broke a rule; the volume is kept.
    Rejected(LockedSession),
    /// Its changes wait for the gate.
    Collected(LockedSession),
    /// Files of its workspace were being changed.
    Applying(LockedSession),
    /// The gate is settled.
    Settled(LockedSession),
}

impl Stored {
    fn of(session: LockedSession) -> Self {
        let record = session.record();
        match record.phase {
            Phase::Preparing => Self::Preparing(session),
            Phase::Syncing => {
                let phase = record.phase_before.unwrap_or(Phase::Settled);
                Self::Updating(session, phase)
            }
            Phase::Running | Phase::Stopped => Self::Uncollected(session),
            Phase::Rejected => Self::Rejected(session),
            Phase::Collected => Self::Collected(session),
            Phase::Applying => Self::Applying(session),
            Phase::Settled => Self::Settled(session),
        }
    }
}

/// Brings a session whose lock could be taken into a state that the gate knows. An undo or a
/// redo of it that was cut off was [repaired](crate::lifecycle::repair::repair) before.
///
/// Repeating it is harmless: each step starts from what the record says, and writes the
/// record only when it is done (FLT-09, APP-12).
///
/// # Errors
/// When the engine can't be reached or the disk refuses; the session stays as it is.
pub fn resume(
    cx: &SessionContext<'_>,
    exporter: Pinned,
    session: LockedSession,
) -> Result<RecoverOutcome, ResumeError> {
    match Stored::of(session) {
        Stored::Preparing(session) => {
            remove_all(cx, &session)?;
            session.remove()?;
            Ok(RecoverOutcome::Removed)
        }
        Stored::Updating(mut session, phase) => {
            // The volume is sound, however far that came; the next update knows.
            remove_leftovers(&*cx.engine, &session)?;
            session.update(|record| {
                record.phase = phase;
                record.phase_before = None;
            })?;
            Ok(RecoverOutcome::SyncCutShort(session))
        }
        Stored::Uncollected(session) => collect(cx, exporter, session),
        Stored::Rejected(mut session) => {
            // The volume is as it was: what made this batch unbelievable, such as a
            // connection that a relay cut in good order, may not happen again (FLT-03).
            session.update(|record| {
                record.phase = Phase::Stopped;
                record.outcome = None;
                record.rejection = None;
            })?;
            collect(cx, exporter, session)
        }
        Stored::Collected(session) => {
            remove_leftovers(&*cx.engine, &session)?;
            Ok(RecoverOutcome::Unchanged(session))
        }
        Stored::Applying(session) => finish_apply(cx, session),
        Stored::Settled(session) => {
            remove_settled(cx, &session)?;
            session.remove_collection()?;
            Ok(RecoverOutcome::Unchanged(session))
        }
    }
}

fn collect(
    cx: &SessionContext<'_>,
    exporter: Pinned,
    session: LockedSession,
) -> Result<RecoverOutcome, ResumeError> {
    let stopped = Stopped::stop(cx, session, exporter, None)?;
    Ok(match stopped.collect(cx, None, BaseTexts::Recorded)? {
        Collected::Ready(session) => RecoverOutcome::Collected(session),
        Collected::Rejected(session) => RecoverOutcome::Rejected(session),
    })
}

fn finish_apply(
    cx: &SessionContext<'_>,
    mut session: LockedSession,
) -> Result<RecoverOutcome, ResumeError> {
    let recovered = recover_apply(&session)?;
    let record = session.record();
    let leaves_more = record.left_out > 0 || !record.commits.is_empty();
    if recovered == Recovered::Completed && !leaves_more {
        session.update(|record| {
            record.phase = Phase::Settled;
            record.outcome = Some(Outcome::Applied);
            record.settled_at(Moment::now());
        })?;
        remove_settled(cx, &session)?;
        session.remove_collection()?;
        return Ok(RecoverOutcome::Applied(session));
    }
    session.update(|record| record.phase = Phase::Collected)?;
    Ok(match recovered {
        Recovered::Completed => RecoverOutcome::Applied(session),
        Recovered::RolledBack { not_restored } => RecoverOutcome::RolledBack(session, not_restored),
        // It was killed before it had a journal, so before it changed anything.
        Recovered::Nothing => RecoverOutcome::RolledBack(session, Vec::new()),
    })
}

/// Finishes the apply that the record names. One whose journal says that it is done, and of
/// which only the record does not know yet, is complete.
fn recover_apply(session: &LockedSession) -> Result<Recovered, ResumeError> {
    let Some(number) = session.record().applying else {
        return Ok(Recovered::Nothing);
    };
    let journal = session.dir().journal(number);
    let recovered = recover(&journal)?;
    if recovered != Recovered::Nothing {
        return Ok(recovered);
    }
    Ok(match history_state(&journal)? {
        Some(HistoryState::Applied) => Recovered::Completed,
        _ => Recovered::Nothing,
    })
}

/// Removes what a settled session needs no more: its containers, and its volume unless it
/// keeps that.
fn remove_settled(cx: &SessionContext<'_>, session: &LockedSession) -> Result<(), ResumeError> {
    match session.record().keep {
        KeepVolume::UntilSettled => {
            let all = inventory(cx, session)?.except_lasting_volumes();
            let all = all.surveyed(session.record());
            all.remove(&*cx.engine)?;
        }
        KeepVolume::Always => remove_leftovers(&*cx.engine, session)?,
    }
    Ok(())
}

/// Removes everything of a session that never began. A launcher that was killed may have
/// asked for a container that the engine is still making: so what is gone is looked for
/// again, and counts as gone only if nothing came meanwhile. What comes even later carries
/// the labels, and `prune` and the next `recover` find it.
fn remove_all(cx: &SessionContext<'_>, session: &LockedSession) -> Result<(), ResumeError> {
    let is_young = session
        .record()
        .is_younger_than(IN_FLIGHT, SystemTime::now());
    loop {
        inventory(cx, session)?.unused().remove(&*cx.engine)?;
        if !is_young {
            return Ok(());
        }
        cx.cancel.check()?;
        std::thread::sleep(SECOND_LOOK);
        let again = inventory(cx, session)?;
        if again.containers.is_empty() && again.volumes.is_empty() {
            return Ok(());
        }
    }
}

/// Removes what the store has in the engine and no session knows of.
///
/// # Errors
/// The engine's, or the disk's.
pub fn sweep(cx: &SessionContext<'_>, store: &Store) -> Result<(), ResumeError> {
    let all = Inventory::of_store(&*cx.engine, &cx.store_id)?;
    let tags = KnownPrefixes::of(store)?;
    let orphans = all.only(|tag| !tags.knows(tag));
    Ok(orphans.remove(&*cx.engine)?)
}

fn inventory(cx: &SessionContext<'_>, session: &LockedSession) -> Result<Inventory, EngineError> {
    let all = Inventory::of_store(&*cx.engine, &cx.store_id)?;
    Ok(all.of(&session.record().owner()))
}
