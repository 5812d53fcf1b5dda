//! `Resources`: the volumes and containers of an owner before its command starts.

use std::sync::Arc;
use std::thread;

use lazaret_runtime::{
    ContainerLease, Engine, EngineError, HardenedSpec, Unenforceable, VolumeLease,
};

use crate::cancel::Interrupted;
use crate::context::SessionContext;
use crate::engine::containers::ContainerSpecs;
use crate::engine::inventory::Inventory;
use crate::engine::owner::ResourceOwner;

/// Why volumes and containers could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ResourceError {
    /// The user wants an end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine can't enforce a control.
    #[error(transparent)]
    Unenforceable(#[from] Unenforceable),
    /// A thread panicked.
    #[error("creating the gateway panicked")]
    Panicked,
}

/// Whether a session has a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumePresence {
    /// It is in the engine.
    Present,
    /// It was removed, by lazaret or by another program.
    Missing,
}

/// Volumes, and containers that run and wait. There is nothing of value in them yet, so
/// dropping it removes them.
#[derive(Debug)]
#[must_use = "it is removed at once; keep it"]
pub(crate) struct Resources {
    owner: ResourceOwner,
    agent: Option<ContainerLease>,
    gateway: Option<ContainerLease>,
    sockets: Option<VolumeLease>,
    /// `None` too where the volume was there before.
    volume: Option<VolumeLease>,
    /// Whether the volume with the copy was there before.
    volume_before: VolumePresence,
    /// The engine, once it may hold something that no lease stands for: it was asked to
    /// create it, and the answer is lost.
    unconfirmed: Option<Arc<dyn Engine>>,
}

impl Resources {
    /// One that has nothing yet, but its volume if that was there before.
    pub(crate) fn new(owner: ResourceOwner, volume_before: VolumePresence) -> Self {
        Self {
            owner,
            agent: None,
            gateway: None,
            sockets: None,
            volume: None,
            volume_before,
            unconfirmed: None,
        }
    }

    /// Takes over one that was kept: with its volume, unless that was there before it.
    pub(crate) fn adopt(
        cx: &SessionContext<'_>,
        owner: ResourceOwner,
        specs: &ContainerSpecs,
    ) -> Self {
        let mut resources = Self::new(owner, VolumePresence::Missing);
        let (engine, owner) = (&cx.engine, &resources.owner);
        resources.volume = Some(VolumeLease::adopt(engine, &owner.volume()));
        resources.agent = Some(ContainerLease::adopt(engine, &owner.agent()));
        if specs.gateway.is_some() {
            resources.sockets = Some(VolumeLease::adopt(engine, &owner.sockets()));
            resources.gateway = Some(ContainerLease::adopt(engine, &owner.gateway()));
        }
        resources
    }

    /// Makes everything that is missing, and starts the containers.
    ///
    /// # Errors
    /// The engine's. What was made stays with this value.
    pub(crate) fn make(
        &mut self,
        cx: &SessionContext<'_>,
        specs: &ContainerSpecs,
    ) -> Result<(), ResourceError> {
        cx.cancel.check()?;
        if specs.gateway.is_some() {
            let labels = self.owner.labels("egress");
            let sockets = VolumeLease::create(&cx.engine, &self.owner.sockets(), &labels);
            self.sockets = Some(self.created(&cx.engine, sockets)?);
            cx.cancel.check()?;
        }
        thread::scope(|scope| {
            // Beside the other: a network takes an engine as long as a container.
            let starting = specs.gateway.as_ref().map(|spec| {
                scope.spawn(move || {
                    let lease = ContainerLease::create(&cx.engine, spec);
                    let started = match &lease {
                        Ok(_) => cx.engine.start_container(&spec.spec().name),
                        Err(_) => Ok(()),
                    };
                    (lease, started)
                })
            });
            let started = self.start_agent(cx, &specs.agent);
            if let Some(starting) = starting {
                let (lease, started) = (starting.join()).map_err(|_| ResourceError::Panicked)?;
                self.gateway = Some(self.created(&cx.engine, lease)?);
                started?;
            }
            started
        })
    }

    fn start_agent(
        &mut self,
        cx: &SessionContext<'_>,
        spec: &HardenedSpec,
    ) -> Result<(), ResourceError> {
        if self.volume_before == VolumePresence::Missing {
            let labels = self.owner.labels("workspace");
            let volume = VolumeLease::create(&cx.engine, &self.owner.volume(), &labels);
            self.volume = Some(self.created(&cx.engine, volume)?);
            cx.cancel.check()?;
        }
        let agent = ContainerLease::create(&cx.engine, spec);
        self.agent = Some(self.created(&cx.engine, agent)?);
        cx.cancel.check()?;
        cx.engine.start_container(&self.owner.agent())?;
        Ok(())
    }

    /// Takes note if it is unknown whether the engine created the resource.
    pub(crate) fn created<L>(
        &mut self,
        engine: &Arc<dyn Engine>,
        lease: Result<L, EngineError>,
    ) -> Result<L, EngineError> {
        if let Err(
            EngineError::Lost { .. } | EngineError::Timeout { .. } | EngineError::Stream { .. },
        ) = &lease
        {
            self.unconfirmed = Some(Arc::clone(engine));
        }
        lease
    }

    /// From now on nothing is removed without a decision, but for the gateway: whatever
    /// happens, it goes with its launcher.
    pub(crate) fn keep(mut self) -> Option<ContainerLease> {
        if let Some(agent) = self.agent.take() {
            agent.keep();
        }
        if let Some(sockets) = self.sockets.take() {
            sockets.keep();
        }
        if let Some(volume) = self.volume.take() {
            volume.keep();
        }
        self.unconfirmed = None;
        self.gateway.take()
    }

    /// Removes everything. Says whether that worked.
    pub(crate) fn remove_all(&mut self) -> bool {
        let agent = self.agent.take().map_or(Ok(()), ContainerLease::release);
        let gateway = self.gateway.take().map_or(Ok(()), ContainerLease::release);
        // Before the volume, which a container without a lease keeps in use.
        let swept = self.sweep();
        let sockets = self.sockets.take().map_or(Ok(()), VolumeLease::release);
        let volume = self.volume.take().map_or(Ok(()), VolumeLease::release);
        agent.is_ok() && gateway.is_ok() && swept.is_ok() && sockets.is_ok() && volume.is_ok()
    }

    /// Removes by label what has no lease.
    fn sweep(&mut self) -> Result<(), EngineError> {
        let Some(engine) = self.unconfirmed.take() else {
            return Ok(());
        };
        let all = Inventory::of_store(&*engine, &self.owner.store)?.of(&self.owner);
        match self.volume_before {
            VolumePresence::Present => all.remove_transient(&*engine, &self.owner),
            VolumePresence::Missing => all.unused().remove(&*engine),
        }
    }
}

impl Drop for Resources {
    fn drop(&mut self) {
        // What could not be removed is among the leftovers, and named by a record or a label.
        let _removed = self.remove_all();
    }
}
