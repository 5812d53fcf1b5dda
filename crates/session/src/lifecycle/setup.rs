//! `SetupGuard`: a session whose command has not started, and all that it has in its engine.

use lazaret_image_builder::Pinned;
use lazaret_runtime::{ContainerLease, EngineError, VolumeLease};
use lazaret_transfer::Tips;
use lazaret_tree::PathError;

use crate::context::SessionContext;
use crate::engine::containers::{ContainerPlan, ContainerSpecs, HomeStorage};
use crate::engine::lasting_volume::LastingVolumeError;
use crate::engine::resources::{ResourceError, Resources, VolumePresence};
use crate::home;
use crate::lifecycle::protect::ProtectionContainer;
use crate::lifecycle::protection_plan::ProtectError;
use crate::spec::RunSpec;
use crate::store::deferred_sync::DeferredSync;
use crate::store::record::{Phase, Record};
use crate::store::sync_state::{SyncState, add_tips, put_sent};
use crate::store::{LockedSession, SessionDir, StoreError};
use crate::volumes::{VolumeError, provide};

/// There is nothing of value in it yet, so dropping it removes everything, the record last:
/// what could not be removed is still named by a record, for `recover`.
#[derive(Debug)]
#[must_use = "dropping it removes what was made"]
pub(super) struct SetupGuard {
    resources: Option<Resources>,
    /// Volumes of the home and of the profile that were made for this start.
    volumes: Vec<VolumeLease>,
    /// `None` once it was taken, by `launch` or `drop`.
    session: Option<LockedSession>,
    /// Where a session goes back to that was there before; `None` for a new one.
    resume_phase: Option<Phase>,
    /// What was written on the way.
    deferred: DeferredSync,
}

/// What is left of the guard once the command may start.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) session: LockedSession,
    pub(super) gateway: Option<ContainerLease>,
    pub(super) deferred: DeferredSync,
}

impl SetupGuard {
    /// Guards a session that is removed if its command does not start.
    pub(super) fn of_new(session: LockedSession) -> Self {
        Self {
            resources: None,
            volumes: Vec::new(),
            session: Some(session),
            resume_phase: None,
            deferred: DeferredSync::default(),
        }
    }

    /// Guards a session that goes back to `phase` if its command does not start.
    pub(super) fn of_kept(session: LockedSession, phase: Phase, deferred: DeferredSync) -> Self {
        Self {
            resources: None,
            volumes: Vec::new(),
            session: Some(session),
            resume_phase: Some(phase),
            deferred,
        }
    }

    fn session(&mut self) -> &mut LockedSession {
        match &mut self.session {
            Some(session) => session,
            None => unreachable!("only `launch` and `drop` take it, and both end the guard"),
        }
    }

    /// Returns the session's record.
    pub(super) fn record(&mut self) -> &Record {
        self.session().record()
    }

    /// Returns the session's directory.
    pub(super) fn dir(&mut self) -> SessionDir {
        self.session().dir().clone()
    }

    /// Takes over a volume and containers that run and wait.
    pub(super) fn adopt(&mut self, cx: &SessionContext<'_>, specs: &ContainerSpecs) {
        let owner = self.record().owner();
        self.resources = Some(Resources::adopt(cx, owner, specs));
    }

    /// Makes the volume of the home, if there is none.
    pub(super) fn provide_home(
        &mut self,
        cx: &SessionContext<'_>,
        plan: &ContainerPlan,
    ) -> Result<(), LastingVolumeError> {
        if plan.home == HomeStorage::Volume {
            let (owner, dir) = (self.record().owner(), self.dir());
            let made = home::volume(&owner).provide(cx, &plan.porter, &home::dir(&dir))?;
            self.volumes.extend(made);
        }
        Ok(())
    }

    /// Makes the volumes of the profile that are missing.
    pub(super) fn provide(
        &mut self,
        cx: &SessionContext<'_>,
        spec: &RunSpec<'_>,
    ) -> Result<(), VolumeError> {
        let (owner, dir) = (self.record().owner(), self.dir());
        let made = provide(cx, &owner, &dir, &spec.volumes, &spec.porter)?;
        self.volumes.extend(made);
        Ok(())
    }

    /// Makes what is missing.
    pub(super) fn make(
        &mut self,
        cx: &SessionContext<'_>,
        volume: VolumePresence,
        specs: &ContainerSpecs,
    ) -> Result<(), ResourceError> {
        let resources = Resources::new(self.record().owner(), volume);
        let resources = self.resources.insert(resources);
        cx.phase("create", |_| resources.make(cx, specs))
    }

    /// Takes note if it is unknown whether the engine created the resource.
    fn created<L>(
        &mut self,
        cx: &SessionContext<'_>,
        lease: Result<L, EngineError>,
    ) -> Result<L, EngineError> {
        match &mut self.resources {
            Some(resources) => resources.created(&cx.engine, lease),
            None => lease,
        }
    }

    /// Makes the container that protects.
    pub(super) fn protector<'a>(
        &mut self,
        cx: &'a SessionContext<'a>,
        image: &Pinned,
    ) -> Result<ProtectionContainer<'a>, ProtectError> {
        let record = self.record().clone();
        ProtectionContainer::start(cx, &record, image, |lease| self.created(cx, lease))
    }

    /// Writes down what is known of the volume.
    pub(super) fn put(&mut self, known: &SyncState, tips: &Tips) -> Result<(), PathError> {
        let dir = self.dir();
        add_tips(&dir, tips, &mut self.deferred)?;
        put_sent(&dir, tips, &mut self.deferred)?;
        known.put(&dir, &mut self.deferred)
    }

    /// Takes over what an update has written.
    pub(super) fn append(&mut self, deferred: DeferredSync) {
        self.deferred.append(deferred);
    }

    /// Changes the record.
    pub(super) fn update(&mut self, change: impl FnOnce(&mut Record)) -> Result<(), StoreError> {
        let mut deferred = std::mem::take(&mut self.deferred);
        let updated = self.session().update_soon(&mut deferred, change);
        self.deferred = deferred;
        updated
    }

    /// The command is about to start: from now on nothing is removed without a decision but
    /// the gateway, which goes with its launcher whatever happens.
    pub(super) fn launch(mut self) -> Launched {
        let gateway = self.resources.take().and_then(Resources::keep);
        for volume in self.volumes.drain(..) {
            volume.keep();
        }
        let Some(session) = self.session.take() else {
            unreachable!("this and `drop` take it, and both end the guard");
        };
        Launched {
            session,
            gateway,
            deferred: std::mem::take(&mut self.deferred),
        }
    }
}

impl Drop for SetupGuard {
    fn drop(&mut self) {
        let is_clear = (self.resources.take()).is_none_or(|mut resources| resources.remove_all());
        // After the container that has them mounted.
        let volumes = self.volumes.drain(..).map(VolumeLease::release);
        let is_clear = volumes.fold(is_clear, |is_clear, released| is_clear && released.is_ok());
        if let Some(mut session) = self.session.take()
            && is_clear
        {
            // A record that can't be removed is found by `recover`, like a left-over volume.
            drop(match self.resume_phase {
                None => session.remove(),
                Some(phase) => session.update(|record| {
                    record.phase = phase;
                    record.phase_before = None;
                }),
            });
        }
    }
}
