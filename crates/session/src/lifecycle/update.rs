//! Brings the volume of a session up to date with its workspace: what changed on the host
//! since goes in, what the command changed stays.
//!
//! The conversation is one exec of `porter update`: it tells what the volume holds, the three
//! sides are reconciled here, and it does what it is told. Before anything is told, what is
//! about to happen is written down; so wherever this ends, nothing of it is taken for the
//! command's work later, and nothing of the host's is lost. After a power cut, the same that
//! the host has may be shown as the command's, and what the volume's disk had not written by
//! then as undone by it.

mod error;
mod prefetch;

pub use error::UpdateError;
pub use prefetch::Prefetch;
pub(crate) use prefetch::scan;

use std::time::Instant;

use lazaret_protocol::{
    FileTime, Survey, SurveyError, Trailer, UpdateMode, UpdateReceipt, Verb, Writers,
};
use lazaret_runtime::{ContainerName, Process};
use lazaret_transfer::{
    AgentChanges, Overlay, PackError, PendingSurvey, Progress, SyncPlan, Tips, Walked,
    has_own_objects, pack_subset, reconcile,
};
use lazaret_tree::RelPathBuf;

use crate::cancel::Guard;
use crate::commits::both_ways::{BothWays, Settled, holds_own};
use crate::context::{SessionContext, WORKSPACE};
use crate::event::Counter;
use crate::lifecycle::file_limit::FileLimit;
use crate::lifecycle::update_summary::UpdateSummary;
use crate::porter::conversation::{FromPorter, PorterCall, PorterError, ToPorter, until_exit};
use crate::spec::Source;
use crate::store::SessionDir;
use crate::store::deferred_sync::DeferredSync;
use crate::store::record::{GateLimits, Record, WriteScope};
use crate::store::sync_state::{
    PrefetchedState, SyncState, add_tips, put_intent, put_sent, remove_intent,
};

/// How a volume is brought up to date.
#[derive(Debug, Clone, Copy)]
pub struct UpdateOptions {
    /// What a survey of it is held to.
    pub gate: GateLimits,
    /// What becomes of the command's changes.
    pub agent_changes: AgentChanges,
}

impl UpdateOptions {
    /// Returns what a session's record says.
    pub fn of(record: &Record) -> Self {
        Self {
            gate: record.gate,
            agent_changes: match (record.reset, record.commits.is_empty()) {
                (true, _) => AgentChanges::Discard,
                (false, true) => AgentChanges::Keep,
                (false, false) => AgentChanges::KeepCommits,
            },
        }
    }

    /// Returns what becomes of the command's changes in a volume of this state.
    ///
    /// What a command that goes on has committed is known when it has ended: until then
    /// everything that its git made counts as commits that wait. Afterwards, what its index or a
    /// reflog names does.
    pub(crate) fn in_state(
        self,
        dir: &SessionDir,
        state: &SyncState,
        writers: Writers,
    ) -> AgentChanges {
        let has_own = || has_own_objects(&state.baseline, &state.volume);
        match (self.agent_changes, writers) {
            (AgentChanges::Keep, Writers::Paused) if has_own() => AgentChanges::KeepCommits,
            (AgentChanges::Keep, Writers::Stopped) if has_own() && holds_own(dir, state) => {
                AgentChanges::KeepCommits
            }
            (agent_changes, _) => agent_changes,
        }
    }
}

/// Returns when the last process of a session's command had ended. An engine on another machine
/// goes by another clock.
pub fn quiet_since(cx: &SessionContext<'_>, record: &Record) -> Option<FileTime> {
    let ms = record.quiet_since_ms.filter(|_| !cx.info.is_remote())?;
    Some(FileTime {
        seconds: i64::try_from(ms / 1000).ok()?,
        nanos: u32::try_from(ms % 1000).ok()? * 1_000_000,
    })
}

/// An update that is about to begin.
#[derive(Debug)]
pub struct Update<'a> {
    /// What every step works with.
    pub cx: &'a SessionContext<'a>,
    /// The container that has the volume at [`WORKSPACE`], for writing.
    pub container: &'a ContainerName,
    /// The session.
    pub dir: &'a SessionDir,
    /// What goes in.
    pub source: Source<'a>,
    /// By what.
    pub options: UpdateOptions,
    /// Counts what is sent.
    pub counter: &'a Counter,
    /// What has become of the command.
    pub writers: Writers,
    /// When the command's last process had ended, if that is known in the volume's own time.
    pub quiet_since: Option<FileTime>,
    /// What the command is kept from while it stands still: none of it is written to.
    pub write_scope: Option<&'a WriteScope>,
}

/// An update whose porter waits, and whose workspace is read.
#[derive(Debug)]
#[must_use = "nothing is sent before it is finished"]
pub struct Started<'a> {
    update: Update<'a>,
    process: Process,
    reading: Prefetch<'static>,
    _guard: Guard,
}

impl<'a> Update<'a> {
    /// Starts the porter and reads the workspace: all that can be done while a command runs.
    ///
    /// # Errors
    /// The engine's, or a file of the workspace that can't be read or changes meanwhile
    /// (FLT-04).
    pub fn start(self) -> Result<Started<'a>, UpdateError> {
        let process = self.cx.carry(self.container, self.verb())?;
        let guard = self.cx.kill_on_cancel(self.container);
        let reading = Prefetch::whole(self.dir, self.source)?;
        self.cx.cancel.check()?;
        Ok(Started {
            update: self,
            process,
            reading,
            _guard: guard,
        })
    }

    /// Returns the verb that a porter is asked for.
    pub(crate) fn verb(&self) -> Verb {
        let mode = match self.writers {
            // No process can write to the volume, so the porter may survey it right away.
            Writers::Stopped => UpdateMode::Prefetched,
            Writers::Paused => UpdateMode::Surveyed,
        };
        Verb::Update {
            root: WORKSPACE.to_owned(),
            mode,
        }
    }

    /// Brings the volume up to date, in words with a porter.
    ///
    /// # Errors
    /// As [`Started::finish`].
    pub(crate) fn talk(
        &self,
        out: ToPorter<'_>,
        answers: FromPorter<'_>,
        reading: Prefetch<'_>,
    ) -> Result<(UpdateSummary, DeferredSync), UpdateError> {
        let started = Instant::now();
        let Prefetch { scanned, state } = reading;
        let state = match state.finish().ok().and_then(PrefetchedState::if_current) {
            Some(state) => state,
            None => SyncState::read(self.dir)?,
        };
        self.cx.timings.note("reconcile", started.elapsed());
        self.ask(out, &state)?;
        // Both sides are looked at by now.
        let scanned = scanned.finish()?;
        self.cx.timings.note("scan", scanned.took);
        let state = self.surveyed(answers, state)?;
        let settled = self.reconcile(&state, &scanned.walked)?;
        let SyncState { baseline, volume } = state;
        let Settled {
            mut plan,
            overlay,
            news,
            sent: history,
            ..
        } = settled;
        FileLimit::of(self.options.gate).check_order(&plan.request)?;
        if let Some(bounds) = self.write_scope {
            check_writable(bounds, &plan)?;
        }
        let mut deferred = DeferredSync::default();
        let mut tips = scanned.walked.tips;
        tips.extend(history.as_ref().unwrap_or(&Tips::default()));
        add_tips(self.dir, &tips, &mut deferred)?;
        put_intent(self.dir, &plan.pending_update(), &mut deferred)?;
        plan.request.quiet_since = self.quiet_since;
        plan.request.write_to(out).map_err(PorterError::Stream)?;
        let sent = self.send(out, &plan, &overlay)?;
        let receipt = UpdateReceipt::read_from(answers, &plan.request)?;
        if receipt.written.arrived != sent {
            return Err(UpdateError::OtherReceipt);
        }
        let state = SyncState {
            baseline: plan.settled(baseline, &receipt),
            volume: volume.updated(&plan.request, &receipt)?,
        };
        state.put(self.dir, &mut deferred)?;
        if let Some(history) = history {
            put_sent(self.dir, &history, &mut deferred)?;
        }
        remove_intent(self.dir)?;
        let count = |paths: &[RelPathBuf]| paths.len() as u64;
        let synced = UpdateSummary {
            sent: plan.request.send.len() as u64,
            bytes: sent.bytes,
            removed: count(&plan.request.remove).saturating_sub(count(&receipt.stayed)),
            adopted: count(&plan.adopted),
            conflicts: plan.conflicts,
            repository: news,
            skipped: scanned.walked.skipped,
        };
        deferred.spend((state, scanned.walked.tree, scanned.cache));
        Ok((synced, deferred))
    }

    /// Asks what differs from what is known of the volume.
    fn ask(
        &self,
        out: ToPorter<'_>,
        SyncState { baseline, volume }: &SyncState,
    ) -> Result<(), PorterError> {
        let request = volume.request(self.options.gate.stream(), self.writers, baseline);
        request.write_to(out).map_err(PorterError::Stream)?;
        out.flush().map_err(PorterError::Stream)
    }

    /// Takes in what differs.
    fn surveyed(
        &self,
        answers: FromPorter<'_>,
        SyncState { baseline, volume }: SyncState,
    ) -> Result<SyncState, UpdateError> {
        let limits = self.options.gate.stream();
        let survey = Survey::read_from(answers, &limits).map_err(unbelievable)?;
        let volume = volume
            .surveyed(survey, &baseline)
            .and_then(PendingSurvey::whole)
            .map_err(unbelievable)?;
        Ok(SyncState { baseline, volume }.absorb_pending(self.dir)?)
    }

    fn reconcile(&self, state: &SyncState, walked: &Walked) -> Result<Settled, UpdateError> {
        let started = Instant::now();
        let SyncState { baseline, volume } = state;
        let agent_changes = self.options.in_state(self.dir, state, self.writers);
        let plan = reconcile(baseline, walked, volume, agent_changes);
        let both_ways = BothWays {
            dir: self.dir,
            made: self.dir.file("history"),
            source: self.source,
            limit: FileLimit::of(self.options.gate),
            write_scope: self.write_scope,
            cancel: self.cx.cancel,
        };
        let settled = both_ways.settle(plan, state, walked)?;
        self.cx.timings.note("reconcile", started.elapsed());
        Ok(settled)
    }

    /// Sends what was ordered.
    fn send(
        &self,
        out: ToPorter<'_>,
        plan: &SyncPlan,
        overlay: &Overlay,
    ) -> Result<Trailer, UpdateError> {
        let mut shown = Progress::default();
        let mut tell = |progress: Progress| {
            self.counter.add_files(progress.entries - shown.entries);
            self.counter.add_bytes(progress.bytes - shown.bytes);
            shown = progress;
        };
        let Source { dir, selector, .. } = self.source;
        let order = &plan.request;
        let packed = pack_subset(dir, selector, order, overlay, out, &mut tell);
        let sent = packed.map_err(|error| match error {
            PackError::Write(error) => PorterError::Stream(error).into(),
            other => UpdateError::from(other),
        })?;
        out.flush().map_err(PorterError::Stream)?;
        Ok(sent)
    }
}

impl Started<'_> {
    /// Brings the volume up to date. Nothing of the command runs meanwhile.
    ///
    /// # Errors
    /// A file of the workspace that is not what it was (FLT-04), a full disk, a broken
    /// stream, an interruption. The volume is sound then: what had arrived is there as a
    /// whole, and the next update knows of it.
    pub fn finish(self) -> Result<(UpdateSummary, DeferredSync), UpdateError> {
        let Self {
            update,
            process,
            reading,
            _guard,
        } = self;
        let verb = PorterCall {
            name: "update",
            container: update.container,
        };
        until_exit(update.cx, verb, process, |out, answers| {
            update.talk(out, answers, reading)
        })
    }
}

/// Refuses an update that would write to what is protected: it is root's as long as the
/// command is there, and there is no moment at which it could safely be the command's.
fn check_writable(bounds: &WriteScope, plan: &SyncPlan) -> Result<(), UpdateError> {
    let sent = plan.request.send.iter().map(|(path, _)| path);
    let removed = plan.request.remove.iter().map(|path| &**path);
    for path in sent.chain(removed) {
        if bounds.touches(path)? {
            let path = path.to_owned();
            return Err(UpdateError::Protected { path });
        }
    }
    Ok(())
}

/// A survey that arrived and can't be believed is the volume's fault.
fn unbelievable(error: SurveyError) -> UpdateError {
    match error {
        SurveyError::Wire(error) => error.into(),
        error => UpdateError::Unbelievable(error),
    }
}
