//! Reads the volume of a live session while its command is paused.
//!
//! The viewer's container is like the exporter's, but has another name and role. It is started
//! once and kept until the viewer is dropped. What needs no pause is done before it: the porters
//! are started, the file system is flushed, and earlier changes are fetched. The stored receipt
//! is never touched: it belongs to the collection.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use lazaret_image_builder::Pinned;
use lazaret_protocol::{StreamLimits, Wanted, Writers};
use lazaret_runtime::{
    ContainerLease, ContainerName, EngineError, Process, Spawner, Unenforceable,
};
use lazaret_transfer::{
    BlobStore, BlobStoreError, Collection, FileIdentity, MergeBases, PendingSurvey, VolumeState,
};
use lazaret_tree::{AtPath as _, PathError, Tree};

use crate::cancel::{Guard, Interrupted};
use crate::context::SessionContext;
use crate::engine::inventory::SweepError;
use crate::event::Counter;
use crate::live::pause::is_up;
use crate::live::remote_pause::{RemotePauseError, RemoteTurn};
use crate::live::views::{EngineObject, SweepScope, View, sweep};
use crate::porter::export::{
    BatchRejection, CollectResult, ExportError, SurveyedExport, export, export_verb,
    survey_rejection,
};
use crate::store::record::{Phase, Record};
use crate::store::sync_state::{SyncState, SyncStateError};
use crate::store::{SessionDir, StoreError};

/// Why a snapshot of a live session failed.
#[derive(Debug, thiserror::Error)]
pub enum LiveViewError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine can't enforce a control.
    #[error(transparent)]
    Unenforceable(#[from] Unenforceable),
    /// The user wants an end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// What an earlier command left could not be removed.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// The session could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// What is known of the volume can't be read or written.
    #[error(transparent)]
    State(#[from] SyncStateError),
    /// What is fetched can't be kept.
    #[error(transparent)]
    Quarantine(#[from] BlobStoreError),
    /// The porter did not tell everything.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The command does not stand still, or others look at it.
    #[error(transparent)]
    Pause(#[from] RemotePauseError),
}

/// A view of a live session. Dropping it ends the view and removes its container.
#[derive(Debug)]
#[must_use = "dropping it ends the view"]
pub struct LiveView<'a> {
    cx: &'a SessionContext<'a>,
    session: SessionDir,
    record: Record,
    baseline: Tree,
    /// What was known after the last pause. A snapshot without one never advances it: a write
    /// in the same tick of the clock would not show.
    known: VolumeState,
    /// What tells the stored baseline from any later one.
    stamp: FileIdentity,
    quarantine: BlobStore,
    /// Bytes in it.
    fetched: u64,
    /// What the last snapshot came to.
    last: Option<Result<Collection, BatchRejection>>,
    /// In this order: first the signal's guard, then what it would end.
    _guard: Guard,
    container: ViewContainer,
}

/// The container and the folder of a view.
#[derive(Debug)]
struct ViewContainer {
    name: ContainerName,
    spawner: Spawner,
    lease: Option<ContainerLease>,
    view: View,
}

impl Drop for ViewContainer {
    fn drop(&mut self) {
        // The failure is told with those of all leases; the folder says what is left.
        if let Some(lease) = self.lease.take()
            && lease.release().is_ok()
        {
            self.view.note(EngineObject::None);
        }
    }
}

/// What a snapshot came to.
#[derive(Debug)]
pub enum LiveSnapshot {
    /// What the command has changed up to now.
    Taken(VolumeSnapshot),
    /// The same as the last time. The command was not paused for it.
    Same,
    /// The command has ended.
    Ended,
}

/// What was seen while the command stood still.
#[derive(Debug)]
pub struct VolumeSnapshot {
    /// What the volume held; or the rule that a collection would break now.
    pub found: Result<Collection, BatchRejection>,
    /// How long the command stood still.
    pub paused: Duration,
}

impl<'a> LiveView<'a> {
    /// Begins to view a session whose command runs.
    ///
    /// # Errors
    /// The engine's, the disk's, or damage to the session's files.
    pub fn open(
        cx: &'a SessionContext<'a>,
        session: SessionDir,
        record: Record,
        image: &Pinned,
    ) -> Result<Self, LiveViewError> {
        sweep(&*cx.engine, &session, &record, SweepScope::Dead)?;
        let stamp = stamp(&session)?;
        let SyncState { baseline, volume } = SyncState::read(&session)?;
        let mut view = View::create(&session)?;
        let quarantine = BlobStore::create(&view.quarantine())?;
        let name = view.container(&record);
        let spec = cx.viewer_spec(&record, image, name.clone())?;
        view.note(EngineObject::Container);
        let container = ViewContainer {
            name: name.clone(),
            spawner: cx.spawner(&name),
            lease: Some(ContainerLease::create(&cx.engine, &spec)?),
            view,
        };
        let guard = cx.kill_on_cancel(&name);
        cx.engine.start_container(&container.name)?;
        Ok(Self {
            cx,
            session,
            record,
            baseline,
            known: volume,
            stamp,
            quarantine,
            fetched: 0,
            last: None,
            _guard: guard,
            container,
        })
    }

    /// Returns the record, as it was when the view began.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Returns where the session lies.
    pub fn session(&self) -> &SessionDir {
        &self.session
    }

    /// Returns what was sent in.
    pub fn baseline(&self) -> &Tree {
        &self.baseline
    }

    /// Opens what was fetched up to now.
    ///
    /// # Errors
    /// When it is gone.
    pub fn quarantine(&self) -> Result<BlobStore, BlobStoreError> {
        BlobStore::open(&self.container.view.quarantine())
    }

    /// Opens the texts that were sent in, where they were kept.
    pub fn base(&self) -> Option<MergeBases> {
        MergeBases::open(&self.session.file("merge-bases")).ok()
    }

    /// Forgets what was known once the workspace was sent in again: the baseline is another
    /// one then.
    fn refresh(&mut self) -> Result<(), LiveViewError> {
        let stamp = stamp(&self.session)?;
        if stamp != self.stamp {
            let SyncState { baseline, volume } = SyncState::read(&self.session)?;
            (self.baseline, self.known, self.stamp) = (baseline, volume, stamp);
            self.last = None;
        }
        Ok(())
    }

    /// Looks once.
    ///
    /// # Errors
    /// The engine's or the disk's, or an interruption. That the session ends meanwhile is
    /// none.
    pub fn snapshot(&mut self) -> Result<LiveSnapshot, LiveViewError> {
        let looked = self.try_snapshot();
        self.cx.cancel.check()?;
        match looked {
            // The launcher removes us when it is done with the command.
            Err(_) if self.has_ended() => Ok(LiveSnapshot::Ended),
            other => other,
        }
    }

    fn try_snapshot(&mut self) -> Result<LiveSnapshot, LiveViewError> {
        self.refresh()?;
        if self.peek()? {
            return Ok(LiveSnapshot::Same);
        }
        let porter = self.exec()?;
        let Some(turn) = RemoteTurn::take(&self.session, self.cx.cancel)? else {
            return Ok(LiveSnapshot::Ended);
        };
        if self.has_ended() {
            return Ok(LiveSnapshot::Ended);
        }
        self.refresh()?;
        let Some(paused) = turn.pause()? else {
            return Ok(LiveSnapshot::Ended);
        };
        let found = self.export(porter, |live_view, known, porter| {
            live_view.known = known;
            let fetched = live_view.fetch(&live_view.known.wanted(&live_view.baseline), porter)?;
            Ok(fetched.map(|()| live_view.known.collect(&live_view.baseline)))
        })?;
        let paused = paused.end()?;
        drop(turn);
        if self.last.as_ref() == Some(&found) {
            return Ok(LiveSnapshot::Same);
        }
        self.last = Some(found.clone());
        Ok(LiveSnapshot::Taken(VolumeSnapshot { found, paused }))
    }

    /// Looks without a pause, and says whether all is as it was the last time. What it finds
    /// is fetched, so that less is left for the pause; none of it is shown, since files may
    /// have changed while it was looked at.
    fn peek(&mut self) -> Result<bool, LiveViewError> {
        let porter = self.exec()?;
        let peeked = self.export(porter, |live_view, known, porter| {
            if known == live_view.known && matches!(live_view.last, Some(Ok(_))) {
                porter.end()?;
                return Ok(Ok(true));
            }
            // What did arrive is in the quarantine under its digest.
            let _unproven = live_view.fetch(&known.wanted(&live_view.baseline), porter)?;
            Ok(Ok(false))
        });
        match peeked {
            Ok(Ok(is_same)) => Ok(is_same),
            Ok(Err(rejection)) => Ok(self.last == Some(Err(rejection))),
            // Something changed under its eyes: only a pause will tell.
            Err(_) if !self.has_ended() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Has a porter survey the volume, and goes on with what is known of it by that.
    fn export<T>(
        &mut self,
        porter: Process,
        go_on: impl FnOnce(&mut Self, VolumeState, SurveyedExport<'_>) -> CollectResult<T>,
    ) -> CollectResult<T> {
        let cx = self.cx;
        let container = self.container.name.clone();
        export(cx, &container, porter, |porter| {
            let request = (self.known).request(self.limits(), Writers::Paused, &self.baseline);
            let (survey, porter) = match porter.survey(&request)? {
                Ok(said) => said,
                Err(rejection) => return Ok(Err(rejection)),
            };
            let surveyed = self.known.clone().surveyed(survey, &self.baseline);
            match surveyed.and_then(PendingSurvey::whole) {
                Ok(known) => go_on(self, known, porter),
                Err(error) => {
                    porter.end()?;
                    survey_rejection(error)
                }
            }
        })
    }

    /// Lists what has to be fetched and was not yet. What earlier looks fetched is thrown away
    /// when there would be more than the gate allows to a batch.
    fn missing(&mut self, all: &[Wanted]) -> Result<Vec<Wanted>, ExportError> {
        let missing = |quarantine: &BlobStore| {
            let mut missing = Vec::new();
            for file in all {
                if !file.digest.is_some_and(|digest| quarantine.has(&digest)) {
                    missing.push(file.clone());
                }
            }
            Ok::<_, ExportError>(missing)
        };
        let bytes = |files: &[Wanted]| files.iter().map(|file| file.identity.size).sum::<u64>();
        let mut wanted = missing(&self.quarantine)?;
        if self.fetched.saturating_add(bytes(&wanted)) > self.limits().total_bytes {
            let path = self.container.view.quarantine();
            fs::remove_dir_all(&path).at(&path)?;
            self.quarantine = BlobStore::create(&path)?;
            self.fetched = 0;
            wanted = all.to_vec();
        }
        Ok(wanted)
    }

    /// Fetches what is missing.
    fn fetch(&mut self, all: &[Wanted], porter: SurveyedExport<'_>) -> CollectResult<()> {
        let wanted = self.missing(all)?;
        self.fetched += wanted.iter().map(|file| file.identity.size).sum::<u64>();
        let counter = Counter::default();
        let fetched = porter.fetch(&wanted, self.limits(), &self.quarantine, &counter)?;
        Ok(fetched.map(drop))
    }

    fn limits(&self) -> StreamLimits {
        self.record.gate.stream()
    }

    fn exec(&self) -> Result<Process, EngineError> {
        (self.cx).carry_by(&self.container.spawner, export_verb())
    }

    /// Whether the command has ended, or is being ended.
    fn has_ended(&self) -> bool {
        if !matches!(self.session.record(), Ok(record) if record.phase == Phase::Running) {
            return true;
        }
        matches!(is_up(&*self.cx.engine, &self.record.agent()), Ok(false))
    }
}

/// The baseline is replaced as a whole, so each one is a file of its own.
fn stamp(session: &SessionDir) -> Result<FileIdentity, PathError> {
    let path = session.file("baseline");
    let found = fs::metadata(&path).at(&path)?;
    Ok(FileIdentity {
        dev: found.dev(),
        ino: found.ino(),
    })
}
