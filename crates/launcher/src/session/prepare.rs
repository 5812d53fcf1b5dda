//! Creates the volume and the container of a session.

use std::collections::BTreeMap;

use std::sync::Arc;

use lazaret_image_builder::Pinned;
use lazaret_runtime::{
    ContainerLease, Engine, EngineError, EnvName, HardenedSpec, LeaseError, Limits, VolumeLease,
};

use super::belongings::Belongings;
use super::kept::{Again, Standing};
use super::record::{Bounds, Phase, Record};
use super::site::Site;
use super::store::LockedSession;
use crate::failure::{Failure, FailureKind};

/// What the command runs in.
#[derive(Debug)]
pub struct Setting {
    /// The image, pinned.
    pub image: Pinned,
    /// The image of the exporter, pinned.
    pub exporter: Pinned,
    /// Limits.
    pub limits: Limits,
    /// Environment of the command.
    pub env: BTreeMap<EnvName, String>,
    /// How far the command reaches.
    pub bounds: Bounds,
}

/// A session whose container runs and waits; the volume is still empty.
#[derive(Debug)]
#[must_use = "dropping it removes container, volume and session"]
pub struct Prepared {
    pub(super) nest: Nest,
    pub(super) spec: HardenedSpec,
    pub(super) exporter: Pinned,
    pub(super) bounds: Bounds,
    /// Whether an earlier command may have left entries that are root's.
    pub(super) was_fenced: bool,
}

/// What has been made so far. Until the command starts there is nothing of value in it, so
/// dropping it removes everything, the record last: what could not be removed is still
/// named by a record, for `recover`.
#[derive(Debug)]
pub(super) struct Nest {
    agent: Option<ContainerLease>,
    volume: Option<VolumeLease>,
    session: Option<LockedSession>,
    /// Where a session goes back to that was there before; `None` for one that was not.
    before: Option<Phase>,
    /// The engine, once it may hold something that no lease stands for: it was asked to
    /// create it, and the answer is lost.
    in_doubt: Option<Arc<dyn Engine>>,
}

impl Nest {
    pub(super) fn session(&mut self) -> Result<&mut LockedSession, Failure> {
        self.session
            .as_mut()
            .ok_or_else(|| Failure::message(FailureKind::Internal, "the session is gone"))
    }

    /// Takes note when nobody knows whether a creation took place.
    pub(super) fn created<L>(
        &mut self,
        engine: &Arc<dyn Engine>,
        lease: Result<L, LeaseError>,
    ) -> Result<L, LeaseError> {
        if let Err(LeaseError::Engine(
            EngineError::Lost { .. } | EngineError::Timeout { .. } | EngineError::Stream { .. },
        )) = &lease
        {
            self.in_doubt = Some(Arc::clone(engine));
        }
        lease
    }

    /// Removes by label what no lease stands for.
    fn sweep(&self) -> Result<(), EngineError> {
        match (&self.in_doubt, &self.session) {
            (Some(engine), Some(session)) => {
                let record = session.record();
                let all = Belongings::of_store(&**engine, &record.store)?.of_session(&record.id);
                match (self.before, &self.volume) {
                    // Its volume was there before us.
                    (Some(_), None) => all.remove_containers(&**engine),
                    _ => all.remove(&**engine),
                }
            }
            _ => Ok(()),
        }
    }

    /// The command is about to start: from now on nothing is removed without a decision.
    pub(super) fn hatch(mut self) -> Result<LockedSession, Failure> {
        if let Some(agent) = self.agent.take() {
            agent.keep();
        }
        if let Some(volume) = self.volume.take() {
            volume.keep();
        }
        self.session
            .take()
            .ok_or_else(|| Failure::message(FailureKind::Internal, "the session is gone"))
    }
}

impl Drop for Nest {
    fn drop(&mut self) {
        let agent = self.agent.take().map_or(Ok(()), ContainerLease::release);
        // Before the volume, which a container that nobody leases keeps in use.
        let swept = self.sweep();
        let volume = self.volume.take().map_or(Ok(()), VolumeLease::release);
        if let Some(mut session) = self.session.take()
            && agent.is_ok()
            && swept.is_ok()
            && volume.is_ok()
        {
            // A record that can't be removed is found by `recover`, like a left-over volume.
            drop(match self.before {
                None => session.remove(),
                Some(before) => session.update(|record| {
                    record.phase = before;
                    record.before = None;
                }),
            });
        }
    }
}

impl Prepared {
    /// Creates the volume and the container, and starts it.
    ///
    /// # Errors
    /// The engine's, or a control that it can't enforce. Everything that was made is
    /// removed again, the session too.
    pub fn create(
        site: &Site<'_>,
        session: LockedSession,
        setting: Setting,
    ) -> Result<Self, Failure> {
        let record = session.record().clone();
        let nest = Nest {
            agent: None,
            volume: None,
            session: Some(session),
            before: None,
            in_doubt: None,
        };
        Self::start(site, nest, &record, setting, Standing::Gone, false)
    }

    /// Creates a container on a session that was there before, and a volume if it has none
    /// any more.
    ///
    /// # Errors
    /// As [`Prepared::create`]. The session is as it was before then.
    pub fn again(site: &Site<'_>, again: Again, setting: Setting) -> Result<Self, Failure> {
        let Again {
            mut session,
            volume,
        } = again;
        if volume == Standing::Gone {
            session.forget_volume()?;
        }
        let before = session.record().phase;
        let was_fenced = session.record().bounds.is_fenced();
        session.update(|record| {
            record.before = Some(before);
            record.phase = Phase::Syncing;
            // Before anything is: whoever comes next gives it back.
            if !was_fenced {
                record.bounds = setting.bounds.clone();
            }
        })?;
        let record = session.record().clone();
        let nest = Nest {
            agent: None,
            volume: None,
            session: Some(session),
            before: Some(before),
            in_doubt: None,
        };
        Self::start(site, nest, &record, setting, volume, was_fenced)
    }

    fn start(
        site: &Site<'_>,
        mut nest: Nest,
        record: &Record,
        setting: Setting,
        volume: Standing,
        was_fenced: bool,
    ) -> Result<Self, Failure> {
        let spec = site.agent_spec(record, &setting.image, setting.limits, setting.env)?;
        site.step("create", |_| {
            site.interrupt.check()?;
            if volume == Standing::Gone {
                let labels = site.labels(record, "workspace");
                let volume = VolumeLease::create(&site.engine, &record.volume(), &labels);
                nest.volume = Some(nest.created(&site.engine, volume)?);
                site.interrupt.check()?;
            }
            let agent = ContainerLease::create(&site.engine, &spec);
            nest.agent = Some(nest.created(&site.engine, agent)?);
            site.interrupt.check()?;
            site.engine.start_container(&record.agent())?;
            Ok::<_, Failure>(())
        })?;
        Ok(Self {
            nest,
            spec,
            exporter: setting.exporter,
            bounds: setting.bounds,
            was_fenced,
        })
    }
}
