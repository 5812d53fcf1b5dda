//! Makes ready what a session's command runs in.

use lazaret_image_builder::Pinned;
use lazaret_runtime::{ContainerLease, EngineError, HardenedSpec, Limits, Unenforceable};
use lazaret_transfer::Tips;
use lazaret_tree::PathError;

use crate::context::SessionContext;
use crate::credentials::file::CredentialFile;
use crate::engine::inventory::SweepError;
use crate::engine::owner::ResourceOwner;
use crate::engine::resources::{Berth, ResourceError, Specs, VolumePresence, Wanted};
use crate::lifecycle::open::ReopenedSession;
use crate::network::Plan;
use crate::pool::{Filling, Fingerprint, NextContainer, drop_spare};
use crate::store::deferred_sync::DeferredSync;
use crate::store::record::{Phase, Record, WriteScope};
use crate::store::sync_state::{Known, add_tips};
use crate::store::{LockedSession, StoreError};

/// Why what a command runs in could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// A volume or a container could not be made.
    #[error(transparent)]
    Resources(#[from] ResourceError),
    /// The engine can't enforce a control.
    #[error(transparent)]
    Unenforceable(#[from] Unenforceable),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The session could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What an earlier command left could not be removed.
    #[error(transparent)]
    Sweep(#[from] SweepError),
}

/// What the command runs in.
#[derive(Debug)]
pub struct Setting {
    /// The image, pinned.
    pub image: Pinned,
    /// The image of the exporter, pinned.
    pub exporter: Pinned,
    /// Limits.
    pub limits: Limits,
    /// How far the command reaches.
    pub bounds: WriteScope,
    /// Its network.
    pub network: Option<Plan>,
    /// Logins that it is lent.
    pub lent: Vec<CredentialFile>,
}

impl Setting {
    /// Returns what an engine has to make for it.
    pub(crate) fn wanted(&self) -> Wanted<'_> {
        Wanted {
            image: &self.image,
            porter: &self.exporter,
            limits: &self.limits,
            policy: self.network.as_ref().map(|plan| &plan.order.policy),
        }
    }

    /// Returns what places of the pool are made from that fit it.
    pub fn filling(&self, profile: &str) -> Filling {
        Filling {
            profile: profile.to_owned(),
            image: self.image.clone(),
            porter: self.exporter.clone(),
            limits: self.limits.clone(),
            policy: self.network.as_ref().map(|plan| plan.order.policy.clone()),
        }
    }
}

/// A session whose container runs and waits; the volume is still empty.
#[derive(Debug)]
#[must_use = "dropping it removes container, volume and session"]
pub struct Prepared {
    pub(crate) nest: SetupGuard,
    pub(crate) spec: HardenedSpec,
    pub(crate) exporter: Pinned,
    pub(crate) bounds: WriteScope,
    /// Whether an earlier command may have left entries that are root's.
    pub(crate) was_fenced: bool,
    pub(crate) network: Option<Way>,
    pub(crate) lent: Vec<CredentialFile>,
}

/// The way out of a session, as far as it is there.
#[derive(Debug)]
pub(crate) struct Way {
    /// What is wanted of it.
    pub(crate) plan: Plan,
    /// The gateway's container, which runs and waits.
    pub(crate) spec: HardenedSpec,
}

/// A session and what it has in its engine. Until the command starts there is nothing of
/// value in it, so dropping it removes everything, the record last: what could not be removed
/// is still named by a record, for `recover`.
#[derive(Debug)]
pub(crate) struct SetupGuard {
    berth: Option<Berth>,
    session: Option<LockedSession>,
    /// Where a session goes back to that was there before; `None` for one that was not.
    before: Option<Phase>,
    /// What was written on the way.
    unsynced: DeferredSync,
}

/// What is left of a nest once its command may start.
#[derive(Debug)]
pub(crate) struct Hatched {
    pub(crate) session: LockedSession,
    pub(crate) gateway: Option<ContainerLease>,
    pub(crate) unsynced: DeferredSync,
}

impl SetupGuard {
    pub(crate) fn session(&mut self) -> &mut LockedSession {
        match &mut self.session {
            Some(session) => session,
            None => unreachable!("only `hatch` and `drop` take it, and both end the nest"),
        }
    }

    /// Writes down what is known of the volume.
    pub(crate) fn put(&mut self, known: &Known, tips: &Tips) -> Result<(), PathError> {
        let dir = self.session().dir().clone();
        add_tips(&dir, tips, &mut self.unsynced)?;
        known.put(&dir, &mut self.unsynced)
    }

    /// Takes over what an update has written.
    pub(crate) fn append(&mut self, unsynced: DeferredSync) {
        self.unsynced.append(unsynced);
    }

    /// Changes the record.
    pub(crate) fn update(&mut self, change: impl FnOnce(&mut Record)) -> Result<(), StoreError> {
        let mut unsynced = std::mem::take(&mut self.unsynced);
        let updated = self.session().update_soon(&mut unsynced, change);
        self.unsynced = unsynced;
        updated
    }

    /// Takes note if it is unknown whether the engine created the resource.
    pub(crate) fn created<L>(
        &mut self,
        site: &SessionContext<'_>,
        lease: Result<L, EngineError>,
    ) -> Result<L, EngineError> {
        match &mut self.berth {
            Some(berth) => berth.created(&site.engine, lease),
            None => lease,
        }
    }

    /// The command is about to start: from now on nothing is removed without a decision.
    ///
    /// But for the gateway: whatever happens, it goes with its launcher.
    pub(crate) fn hatch(mut self) -> Hatched {
        let gateway = self.berth.take().and_then(Berth::keep);
        let Some(session) = self.session.take() else {
            unreachable!("this and `drop` take it, and both end the nest");
        };
        Hatched {
            session,
            gateway,
            unsynced: std::mem::take(&mut self.unsynced),
        }
    }
}

impl Drop for SetupGuard {
    fn drop(&mut self) {
        let is_clear = self.berth.take().is_none_or(|mut berth| berth.clear());
        if let Some(mut session) = self.session.take()
            && is_clear
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
        site: &SessionContext<'_>,
        session: LockedSession,
        setting: Setting,
    ) -> Result<Self, CreateError> {
        let owner = session.record().owner();
        let nest = SetupGuard {
            berth: Some(Berth::new(owner.clone(), VolumePresence::Missing)),
            session: Some(session),
            before: None,
            unsynced: DeferredSync::default(),
        };
        Self::start(site, nest, &owner, setting, false)
    }

    /// Goes on with what a place of the pool had: the session's record names it.
    ///
    /// # Errors
    /// As [`Prepared::create`].
    pub(crate) fn adopt(
        site: &SessionContext<'_>,
        session: LockedSession,
        setting: Setting,
    ) -> Result<Self, CreateError> {
        let owner = session.record().owner();
        let mut nest = SetupGuard {
            berth: None,
            session: Some(session),
            before: None,
            unsynced: DeferredSync::default(),
        };
        let specs = Specs::of(site, &owner, setting.wanted())?;
        nest.berth = Some(Berth::adopt(site, owner, VolumePresence::Missing, &specs));
        Ok(Self::of(nest, specs, setting, false))
    }

    /// Creates a container on a session that was there before, or takes the one that was made
    /// ahead if that fits, and creates a volume if it has none any more.
    ///
    /// # Errors
    /// As [`Prepared::create`]. The session is as it was before then.
    pub fn again(
        site: &SessionContext<'_>,
        again: ReopenedSession,
        setting: Setting,
    ) -> Result<Self, CreateError> {
        let ReopenedSession {
            mut session,
            volume,
            spare,
        } = again;
        if volume == VolumePresence::Missing {
            session.forget_volume()?;
        }
        let fit = Fingerprint::of(site, setting.wanted());
        let takes =
            spare.is_some_and(|spare| volume == VolumePresence::Present && spare.fit == fit);
        if !takes {
            drop_spare(&*site.engine, &session)?;
        }
        let before = session.record().phase;
        let was_fenced = session.record().bounds.is_fenced();
        let mut unsynced = DeferredSync::default();
        session.update_soon(&mut unsynced, |record| {
            record.before = Some(before);
            record.phase = Phase::Syncing;
            // Of a new one nothing was surveyed.
            record.surveyed &= volume == VolumePresence::Present;
            record.seen_whole &= record.surveyed;
            // Before anything is protected, so that the next run or `recover` gives it back.
            if !was_fenced {
                record.bounds = setting.bounds.clone();
            }
        })?;
        let owner = session.record().owner();
        let mut nest = SetupGuard {
            berth: None,
            session: Some(session),
            before: Some(before),
            unsynced,
        };
        if takes {
            let specs = Specs::of(site, &owner, setting.wanted())?;
            nest.berth = Some(Berth::adopt(site, owner, volume, &specs));
            // From here on it is a command's, and removed if that does not start.
            NextContainer::forget(nest.session().dir())?;
            return Ok(Self::of(nest, specs, setting, was_fenced));
        }
        nest.berth = Some(Berth::new(owner.clone(), volume));
        Self::start(site, nest, &owner, setting, was_fenced)
    }

    fn start(
        site: &SessionContext<'_>,
        mut nest: SetupGuard,
        owner: &ResourceOwner,
        setting: Setting,
        was_fenced: bool,
    ) -> Result<Self, CreateError> {
        let specs = Specs::of(site, owner, setting.wanted())?;
        site.step("create", |_| match &mut nest.berth {
            Some(berth) => berth.make(site, &specs),
            None => Ok(()),
        })?;
        Ok(Self::of(nest, specs, setting, was_fenced))
    }

    fn of(nest: SetupGuard, specs: Specs, setting: Setting, was_fenced: bool) -> Self {
        let network = setting.network.zip(specs.gateway);
        Self {
            nest,
            spec: specs.agent,
            exporter: setting.exporter,
            bounds: setting.bounds,
            was_fenced,
            network: network.map(|(plan, spec)| Way { plan, spec }),
            lent: setting.lent,
        }
    }
}
