//! Makes the volumes and containers of a session, or takes over those that wait.

use std::time::SystemTime;

use lazaret_runtime::{EngineError, HardenedSpec, Unenforceable};

use crate::context::SessionContext;
use crate::engine::containers::ContainerSpecs;
use crate::engine::inventory::SweepError;
use crate::engine::lasting_volume::LastingVolumeError;
use crate::engine::resources::{ResourceError, VolumePresence};
use crate::lifecycle::file_limit::{FileLimit, SizeError};
use crate::lifecycle::open::{KeptSession, Opened};
use crate::lifecycle::setup::SetupGuard;
use crate::lifecycle::update::{Prefetch, UpdateOptions};
use crate::pool::{self, PoolError};
use crate::spec::RunSpec;
use crate::store::deferred_sync::DeferredSync;
use crate::store::record::{Phase, Record};
use crate::store::{Store, StoreError};
use crate::volumes::VolumeError;

/// Why what a command runs in could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// A place of the pool could not be taken.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The workspace has files that are too large.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// A volume or a container could not be made.
    #[error(transparent)]
    Resources(#[from] ResourceError),
    /// The volume of the home could not be made.
    #[error(transparent)]
    Home(#[from] LastingVolumeError),
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
    /// A volume of the profile could not be made.
    #[error(transparent)]
    Volume(#[from] VolumeError),
}

/// A session whose containers run and wait.
#[derive(Debug)]
#[must_use = "dropping it removes what was made"]
pub struct Created<'a> {
    pub(super) setup: SetupGuard,
    pub(super) agent: HardenedSpec,
    /// `None` without a network.
    pub(super) gateway: Option<HardenedSpec>,
    pub(super) volume: Volume<'a>,
}

/// What the volume of a session holds before its command.
#[derive(Debug)]
pub(super) enum Volume<'a> {
    Empty,
    /// What an earlier command left.
    Kept {
        /// What of workspace and volume is being read.
        prefetch: Box<Prefetch<'a>>,
        options: UpdateOptions,
        /// Whether an earlier command may have left entries that are root's.
        was_protected: bool,
    },
}

impl<'a> Opened<'a> {
    /// Creates the session unless it is there, and what its command runs in. A new one takes
    /// over a slot of the pool that fits.
    ///
    /// # Errors
    /// The engine's, or a control that it can't enforce. Everything that was made is removed
    /// again; a session that was there before is as it was.
    pub(super) fn create(
        self,
        cx: &SessionContext<'_>,
        store: &Store,
        spec: &RunSpec<'_>,
    ) -> Result<Created<'a>, CreateError> {
        match self {
            Self::New => Created::of_new(cx, store, spec),
            Self::Kept(kept) => Created::of_kept(cx, *kept, spec),
        }
    }
}

impl<'a> Created<'a> {
    fn of_new(
        cx: &SessionContext<'_>,
        store: &Store,
        spec: &RunSpec<'_>,
    ) -> Result<Self, CreateError> {
        let (plan, new) = (spec.container_plan(), spec.record(cx));
        let warm = pool::take(cx, store, &new, &plan)?;
        let is_warm = warm.is_some();
        let session = match warm {
            Some(session) => session,
            None => store.create(Record::new(new, SystemTime::now()))?,
        };
        let mut setup = SetupGuard::of_new(session);
        let specs = ContainerSpecs::of(cx, &setup.record().owner(), &plan)?;
        match is_warm {
            true => setup.adopt(cx, &specs),
            false => {
                setup.provide_home(cx, &plan)?;
                setup.provide(cx, spec)?;
                setup.make(cx, VolumePresence::Missing, &specs)?;
            }
        }
        Ok(Self::with(setup, specs, Volume::Empty))
    }

    fn of_kept(
        cx: &SessionContext<'_>,
        kept: KeptSession<'a>,
        spec: &RunSpec<'_>,
    ) -> Result<Self, CreateError> {
        let KeptSession {
            mut session,
            volume,
            prefetch,
        } = kept;
        if volume == VolumePresence::Missing {
            // Of an update only what is sent counts; here it is everything.
            FileLimit::of(spec.gate).check(spec.source)?;
            session.forget_volume()?;
        }
        let plan = spec.container_plan();
        let phase = session.record().phase;
        let was_protected = session.record().bounds.is_fenced();
        let contents = match volume {
            VolumePresence::Missing => Volume::Empty,
            VolumePresence::Present => Volume::Kept {
                prefetch: Box::new(prefetch),
                options: UpdateOptions {
                    gate: spec.gate,
                    ..UpdateOptions::of(session.record())
                },
                was_protected,
            },
        };
        let mut deferred = DeferredSync::default();
        session.update_soon(&mut deferred, |record| {
            record.phase_before = Some(phase);
            record.phase = Phase::Syncing;
            // Of a new volume nothing was surveyed.
            record.surveyed &= volume == VolumePresence::Present;
            record.seen_whole &= record.surveyed;
            // Before anything is protected, so that the next run or `recover` gives it back.
            if !was_protected {
                record.bounds = spec.scope.clone();
            }
        })?;
        let mut setup = SetupGuard::of_kept(session, phase, deferred);
        let specs = ContainerSpecs::of(cx, &setup.record().owner(), &plan)?;
        setup.provide_home(cx, &plan)?;
        setup.provide(cx, spec)?;
        setup.make(cx, volume, &specs)?;
        Ok(Self::with(setup, specs, contents))
    }

    fn with(setup: SetupGuard, specs: ContainerSpecs, volume: Volume<'a>) -> Self {
        Self {
            setup,
            agent: specs.agent,
            gateway: specs.gateway,
            volume,
        }
    }
}
