//! Creates the volume and the container of a session.

use std::collections::BTreeMap;

use std::sync::Arc;
use std::thread;

use lazaret_image_builder::Pinned;
use lazaret_runtime::{
    ContainerLease, Engine, EngineError, EnvName, HardenedSpec, LeaseError, Limits, VolumeLease,
};

use super::belongings::Belongings;
use super::egress::Plan;
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
    /// Its network.
    pub network: Option<Plan>,
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
    pub(super) network: Option<Way>,
}

/// The way out of a session, as far as it is there.
#[derive(Debug)]
pub(super) struct Way {
    /// What is wanted of it.
    pub(super) plan: Plan,
    /// The gateway's container, which runs and waits.
    pub(super) spec: HardenedSpec,
}

/// What has been made so far. Until the command starts there is nothing of value in it, so
/// dropping it removes everything, the record last: what could not be removed is still
/// named by a record, for `recover`.
#[derive(Debug)]
pub(super) struct Nest {
    agent: Option<ContainerLease>,
    gateway: Option<ContainerLease>,
    sockets: Option<VolumeLease>,
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
                    (Some(_), None) => all.remove_passing(&**engine, record),
                    _ => all.remove(&**engine),
                }
            }
            _ => Ok(()),
        }
    }

    /// The command is about to start: from now on nothing is removed without a decision.
    ///
    /// But for the gateway: whatever happens, it goes with its launcher.
    pub(super) fn hatch(mut self) -> Result<(LockedSession, Option<ContainerLease>), Failure> {
        if let Some(agent) = self.agent.take() {
            agent.keep();
        }
        if let Some(sockets) = self.sockets.take() {
            sockets.keep();
        }
        let gateway = self.gateway.take();
        if let Some(volume) = self.volume.take() {
            volume.keep();
        }
        let session = (self.session.take())
            .ok_or_else(|| Failure::message(FailureKind::Internal, "the session is gone"))?;
        Ok((session, gateway))
    }
}

impl Drop for Nest {
    fn drop(&mut self) {
        let agent = self.agent.take().map_or(Ok(()), ContainerLease::release);
        let gateway = self.gateway.take().map_or(Ok(()), ContainerLease::release);
        // Before the volume, which a container that nobody leases keeps in use.
        let swept = self.sweep();
        let sockets = self.sockets.take().map_or(Ok(()), VolumeLease::release);
        let volume = self.volume.take().map_or(Ok(()), VolumeLease::release);
        if let Some(mut session) = self.session.take()
            && agent.is_ok()
            && gateway.is_ok()
            && sockets.is_ok()
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
            gateway: None,
            sockets: None,
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
            gateway: None,
            sockets: None,
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
        let plan = setting.network.as_ref();
        let spec = site.agent_spec(record, &setting.image, setting.limits, setting.env, plan)?;
        let gateway = match plan {
            Some(_) => Some(site.gateway_spec(record, &setting.exporter)?),
            None => None,
        };
        site.step("create", |_| {
            site.interrupt.check()?;
            if gateway.is_some() {
                let labels = site.labels(record, "egress");
                let sockets = VolumeLease::create(&site.engine, &record.sockets(), &labels);
                nest.sockets = Some(nest.created(&site.engine, sockets)?);
                site.interrupt.check()?;
            }
            thread::scope(|scope| {
                // Beside the other: a network takes an engine as long as a container.
                let starting = gateway.as_ref().map(|spec| {
                    scope.spawn(move || {
                        let lease = ContainerLease::create(&site.engine, spec);
                        let started = match &lease {
                            Ok(_) => site.engine.start_container(&spec.spec().name),
                            Err(_) => Ok(()),
                        };
                        (lease, started)
                    })
                });
                let started = Self::start_agent(site, &mut nest, record, &spec, volume);
                if let Some(starting) = starting {
                    let (lease, started) = (starting.join())
                        .map_err(|_| super::populate::internal("creating the gateway panicked"))?;
                    nest.gateway = Some(nest.created(&site.engine, lease)?);
                    started?;
                }
                started
            })
        })?;
        let network = setting
            .network
            .zip(gateway)
            .map(|(plan, spec)| Way { plan, spec });
        Ok(Self {
            nest,
            spec,
            exporter: setting.exporter,
            bounds: setting.bounds,
            was_fenced,
            network,
        })
    }

    fn start_agent(
        site: &Site<'_>,
        nest: &mut Nest,
        record: &Record,
        spec: &HardenedSpec,
        volume: Standing,
    ) -> Result<(), Failure> {
        if volume == Standing::Gone {
            let labels = site.labels(record, "workspace");
            let volume = VolumeLease::create(&site.engine, &record.volume(), &labels);
            nest.volume = Some(nest.created(&site.engine, volume)?);
            site.interrupt.check()?;
        }
        let agent = ContainerLease::create(&site.engine, spec);
        nest.agent = Some(nest.created(&site.engine, agent)?);
        site.interrupt.check()?;
        site.engine.start_container(&record.agent())?;
        Ok(())
    }
}
