//! The container that collects, made while the command runs.

use std::thread;
use std::time::Instant;

use lazaret_image_builder::Pinned;
use lazaret_runtime::{ContainerLease, EngineError, Process, Spawner, Unenforceable};

use crate::context::SessionContext;
use crate::engine::counted::CountedVolumes;
use crate::event::Event;
use crate::lifecycle::disk_watch::DiskWatch;
use crate::lifecycle::latch::{BACKGROUND_DELAY, CommandEnded};
use crate::porter::export::export_verb;
use crate::store::SessionDir;
use crate::store::record::Record;
use crate::store::sync_state::PrefetchedState;

/// Why a container that collects could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ExporterError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine can't enforce a control.
    #[error(transparent)]
    Unenforceable(#[from] Unenforceable),
}

/// A running exporter, whose porter waits for what it is asked. Nothing in the volume was
/// looked at yet.
#[derive(Debug)]
#[must_use = "dropping it removes the container"]
pub struct StandbyExporter {
    /// What was known when the command had ended.
    pub(crate) known: Option<PrefetchedState>,
    pub(crate) lease: ContainerLease,
    pub(crate) porter: Process,
}

impl StandbyExporter {
    /// Makes the container while the command runs, and its process once that is over.
    /// `None` where the command was lost, or anything went wrong: then the collection
    /// begins with a container of its own. Meanwhile the container counts what the volume holds.
    pub(super) fn beside(watch: DiskWatch<'_>, image: &Pinned) -> Option<Self> {
        let DiskWatch {
            cx,
            dir,
            record,
            over,
            ..
        } = watch;
        // There a volume can be in one machine at a time.
        if !cx.info.capabilities.shares_volumes {
            return None;
        }
        if over.wait_for(BACKGROUND_DELAY) == Some(CommandEnded::Lost) {
            return None;
        }
        let made = start(cx, record, image, watch.counted).and_then(|lease| {
            let spawner = cx.spawner(&record.exporter());
            if watch.until_ended(&spawner) == CommandEnded::Lost {
                return Ok(None);
            }
            Self::listen(cx, dir, &spawner, lease).map(Some)
        });
        made.unwrap_or_else(|error| {
            cx.events.event(Event::NoExporterYet(&error));
            None
        })
    }

    /// Makes everything now.
    ///
    /// # Errors
    /// The engine's, or the disk's.
    pub(crate) fn now(
        cx: &SessionContext<'_>,
        dir: &SessionDir,
        record: &Record,
        image: &Pinned,
    ) -> Result<Self, ExporterError> {
        // An earlier try may have left one behind.
        cx.engine.remove_container(&record.exporter())?;
        let lease = start(cx, record, image, &CountedVolumes::default())?;
        Self::listen(cx, dir, &cx.spawner(&record.exporter()), lease)
    }

    /// Starts the porter, and reads what is known meanwhile.
    fn listen(
        cx: &SessionContext<'_>,
        dir: &SessionDir,
        spawner: &Spawner,
        lease: ContainerLease,
    ) -> Result<Self, ExporterError> {
        let (known, porter) = thread::scope(|scope| {
            // What is wrong with it shows when it is needed.
            let known = scope.spawn(|| PrefetchedState::of(dir).ok());
            let porter = cx.carry_by(spawner, export_verb());
            (known.join().ok().flatten(), porter)
        });
        Ok(Self {
            known,
            lease,
            porter: porter?,
        })
    }
}

/// Creates and starts the container; removed again with the lease.
///
/// # Errors
/// The engine's, or a control that it can't enforce.
pub(crate) fn start(
    cx: &SessionContext<'_>,
    record: &Record,
    image: &Pinned,
    counted: &CountedVolumes,
) -> Result<ContainerLease, ExporterError> {
    let started = Instant::now();
    let spec = cx.exporter_spec(record, image, counted)?;
    let lease = ContainerLease::create(&cx.engine, &spec)?;
    cx.engine.start_container(&record.exporter())?;
    cx.timings.note("exporter", started.elapsed());
    Ok(lease)
}
