//! Ends a setup step with which a session holds more than it may (CON-28).
//!
//! No user can be asked to make room yet, so a step ends where a command would be paused.

use lazaret_image_builder::Pinned;

use crate::cancel::Cancel;
use crate::context::SessionContext;
use crate::engine::counted::CountedVolumes;
use crate::event::Event;
use crate::lifecycle::disk_limits::{DiskExcess, DiskLimits, Estimate, LOOK};
use crate::lifecycle::latch::{BACKGROUND_DELAY, Latch};
use crate::lifecycle::standby::{self, ExporterError};
use crate::porter::usage::{Unknown, UsageCounter};
use crate::store::record::Record;

/// Why the steps are not watched any more.
#[derive(Debug, thiserror::Error)]
enum StepDiskError {
    #[error(transparent)]
    Exporter(#[from] ExporterError),
    #[error(transparent)]
    Unknown(#[from] Unknown),
}

/// What is watched while steps run.
pub(super) struct StepDiskWatch<'a> {
    pub(super) cx: &'a SessionContext<'a>,
    pub(super) porter: &'a Pinned,
    pub(super) record: &'a Record,
    pub(super) counted: &'a CountedVolumes,
    pub(super) limits: DiskLimits,
    /// Set once no step runs.
    pub(super) over: &'a Latch<()>,
    /// Set to what is too much, before `stop` is raised.
    pub(super) excess: &'a Latch<DiskExcess>,
    /// Ends the step that runs.
    pub(super) stop: &'a Cancel,
}

impl StepDiskWatch<'_> {
    /// Watches until no step runs, or one is ended. Where that fails, the steps run on and the
    /// user is told; where a volume can be in one container only, nothing can count it beside them.
    pub(super) fn until_over(self) {
        if !self.cx.info.capabilities.shares_volumes
            || self.over.wait_for(BACKGROUND_DELAY).is_some()
        {
            return;
        }
        if let Err(error) = self.watch()
            && self.over.get().is_none()
            && self.stop.level().is_none()
        {
            self.cx.events.event(Event::DiskNotWatched(&error));
        }
    }

    fn watch(&self) -> Result<(), StepDiskError> {
        let _container = standby::start(self.cx, self.record, self.porter, self.counted)?;
        let spawner = self.cx.spawner(&self.record.exporter());
        let counter = UsageCounter::start(&spawner, self.counted.targets());
        let mut counter = counter.map_err(ExporterError::from)?.ok_or(Unknown)?;
        loop {
            let (counted, estimate) = Estimate::count(&mut counter)?;
            if let Some(excess) = self.limits.exceeded(counted.amount()) {
                self.excess.set(excess);
                self.stop.raise();
                return Ok(());
            }
            loop {
                if self.over.wait_for(LOOK).is_some() {
                    return Ok(());
                }
                if estimate.is_due(counter.free()?, self.limits) {
                    break;
                }
            }
        }
    }
}
