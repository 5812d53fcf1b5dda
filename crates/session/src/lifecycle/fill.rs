//! Proves the controls, and copies the workspace in.

use std::fs::{self, File};
use std::io::Read as _;
use std::sync::Arc;
use std::thread;

use lazaret_egress::{Patterns, Policy};
use lazaret_protocol::{Receipt, RecordError, SurveyError, Verb, Writers};
use lazaret_runtime::{ContainerName, HardenedSpec, Spawner};
use lazaret_transfer::{
    PackError, Progress, Skipped, StatCacheOutcome, StatCacheWriter, Tips, VolumeState,
    pack_and_record,
};
use lazaret_tree::{AtPath as _, PathError, Tree};

use crate::cancel::Interrupted;
use crate::context::{SessionContext, WORKSPACE};
use crate::event::Counter;
use crate::lifecycle::bootstrap::{PendingCommand, VerifiedContainer};
use crate::lifecycle::create::{Created, Volume};
use crate::lifecycle::protect::ProtectionContainer;
use crate::lifecycle::protection_plan::{ProtectError, ProtectionPlan};
use crate::lifecycle::setup::SetupGuard;
use crate::lifecycle::update::{Prefetch, Update, UpdateError, UpdateOptions, quiet_since};
use crate::lifecycle::update_summary::UpdateSummary;
use crate::lifecycle::verify::VerifyError;
use crate::network::{Gateway, GatewayError};
use crate::porter::conversation::{ANSWER_CAP, ExchangeError, FromPorter, PorterError, ToPorter};
use crate::spec::{RunSpec, Source};
use crate::store::SessionDir;
use crate::store::sync_state::{SyncState, SyncStateError};

/// Why a volume does not hold the workspace, or its command can't start on it.
#[derive(Debug, thiserror::Error)]
pub enum FillError {
    /// A control is not in force.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The network could not be opened.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    /// The porter failed.
    #[error(transparent)]
    Porter(#[from] PorterError),
    /// The volume was not brought up to date.
    #[error(transparent)]
    Update(#[from] UpdateError),
    /// The workspace can't be read, or changed meanwhile.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// The list of what was sent is not whole.
    #[error(transparent)]
    Manifest(RecordError),
    /// What arrived is not known.
    #[error("the receipt")]
    Receipt(#[source] RecordError),
    /// Something else arrived.
    #[error("the receipt is for another tree than the one that was sent")]
    OtherReceipt,
    /// What the porter says of the volume can't be.
    #[error(transparent)]
    Volume(#[from] SurveyError),
    /// Something is not protected.
    #[error(transparent)]
    Protect(#[from] ProtectError),
    /// What is known of the volume can't be read or written.
    #[error(transparent)]
    State(#[from] SyncStateError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// The user wants an end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// A thread panicked.
    #[error("opening the gateway panicked")]
    Panicked,
}

impl ExchangeError for FillError {
    fn is_of_stream(&self) -> bool {
        match self {
            Self::Porter(error) => error.is_of_stream(),
            Self::Update(error) => error.is_of_stream(),
            Self::Pack(PackError::Write(_)) | Self::Receipt(_) | Self::OtherReceipt => true,
            _ => false,
        }
    }
}

/// A session whose volume holds the workspace, and whose controls are proven.
#[derive(Debug)]
#[must_use = "dropping it removes what was made"]
pub struct Filled<'a> {
    pub(super) container: FilledContainer,
    /// What is to be root's; `None` if nothing is.
    pub(super) protection: Option<ProtectionPlan>,
    /// The container that protects, if it was needed to give back what was root's.
    pub(super) protector: Option<ProtectionContainer<'a>>,
    pub(super) setup: SetupGuard,
}

/// The container that the command starts in.
#[derive(Debug)]
pub(super) struct FilledContainer {
    pub(super) agent: HardenedSpec,
    pub(super) pending: PendingCommand,
    /// What starts its processes, and keeps them alive.
    pub(super) spawner: Arc<Spawner>,
    pub(super) network: Option<OpenNetwork>,
    /// What of the workspace was left out.
    pub(super) skipped: Vec<Skipped>,
    /// What an update came to; `None` if everything was copied in.
    pub(super) update: Option<UpdateSummary>,
}

/// A gateway that listens, and what it began with.
#[derive(Debug)]
pub(super) struct OpenNetwork {
    pub(super) gateway: Arc<Gateway>,
    pub(super) policy: Policy,
    pub(super) patterns: Option<Patterns>,
}

impl<'a> Created<'a> {
    /// Proves every control of the container from inside (P12), and then copies the workspace
    /// in, or updates what the volume holds. The network is opened meanwhile.
    ///
    /// # Errors
    /// A file that can't be read or changes meanwhile (FLT-04), a broken stream, a receipt
    /// that does not match, or a control that is not in force: the command never starts on
    /// half a copy.
    pub(super) fn fill(
        self,
        cx: &'a SessionContext<'a>,
        spec: &RunSpec<'_>,
    ) -> Result<Filled<'a>, FillError> {
        let Self {
            setup,
            agent,
            gateway,
            volume,
        } = self;
        let spawner = Arc::new(cx.spawner(&agent.spec().name));
        let inside = Inside {
            cx,
            spec,
            agent,
            gateway,
            spawner,
        };
        match volume {
            Volume::Empty => inside.copy(setup),
            Volume::Kept {
                prefetch,
                options,
                was_protected,
            } => inside.update(setup, *prefetch, options, was_protected),
        }
    }
}

/// What a volume is filled through.
struct Inside<'a, 's> {
    cx: &'a SessionContext<'a>,
    spec: &'s RunSpec<'s>,
    agent: HardenedSpec,
    gateway: Option<HardenedSpec>,
    spawner: Arc<Spawner>,
}

impl<'a> Inside<'a, '_> {
    fn copy(self, mut setup: SetupGuard) -> Result<Filled<'a>, FillError> {
        let Self { cx, spec, .. } = self;
        let dir = setup.dir();
        let stat_cache = dir.file("stat-cache");
        let mut stat_file = File::create(&stat_cache).at(&stat_cache)?;
        let mut stats = StatCacheWriter::new(spec.source.dir, &mut stat_file);
        let ((sent, pending), network) = cx.phase("copy in", |counter| {
            self.with_gateway(&dir, |verified| {
                let root = WORKSPACE.to_owned();
                verified.run_step(cx, self.name(), Verb::Receive { root }, |out, answers| {
                    send(out, answers, spec.source, &mut stats, counter)
                })
            })
        })?;
        if !matches!(stats.finish(), Ok(StatCacheOutcome::Written)) {
            // The next update reads everything, and makes another.
            drop(fs::remove_file(&stat_cache));
        }
        let Sent {
            baseline,
            skipped,
            tips,
            receipt,
        } = sent;
        let volume = VolumeState::received(&baseline, &receipt)?;
        spec.scope.starts_in(&baseline)?;
        let protection = ProtectionPlan::of(&baseline, &spec.scope)?;
        setup.put(&SyncState { baseline, volume }, &tips)?;
        Ok(Filled {
            setup,
            container: FilledContainer {
                agent: self.agent,
                pending,
                spawner: self.spawner,
                network,
                skipped,
                update: None,
            },
            protection,
            protector: None,
        })
    }

    /// What was root's is given back first. The workspace is read meanwhile.
    fn update(
        self,
        mut setup: SetupGuard,
        prefetch: Prefetch<'_>,
        options: UpdateOptions,
        was_protected: bool,
    ) -> Result<Filled<'a>, FillError> {
        let Self { cx, spec, .. } = self;
        let dir = setup.dir();
        let protector = match was_protected || spec.scope.is_fenced() {
            true => Some(setup.protector(cx, &spec.porter)?),
            false => None,
        };
        if let Some(protector) = &protector {
            cx.phase("protect", |_| protector.release())?;
        }
        let quiet_since = quiet_since(cx, setup.record());
        let (((update, deferred), pending), network) = cx.phase("sync in", |counter| {
            let update = Update {
                cx,
                container: self.name(),
                dir: &dir,
                source: spec.source,
                options,
                counter,
                writers: Writers::Stopped,
                quiet_since,
                write_scope: None,
            };
            self.with_gateway(&dir, |verified| {
                verified.run_step(cx, self.name(), update.verb(), |out, answers| {
                    Ok::<_, FillError>(update.talk(out, answers, prefetch)?)
                })
            })
        })?;
        setup.append(deferred);
        let mut protection = None;
        if spec.scope.is_fenced() {
            let SyncState { baseline, volume } = SyncState::read(&dir)?;
            protection = ProtectionPlan::of(&baseline, &spec.scope)?;
            if let Some(plan) = &protection {
                plan.holds(&baseline, &volume.tree(), setup.record())?;
            }
        }
        Ok(Filled {
            setup,
            container: FilledContainer {
                agent: self.agent,
                pending,
                spawner: self.spawner,
                network,
                skipped: update.skipped.clone(),
                update: Some(update),
            },
            protection,
            protector,
        })
    }

    fn name(&self) -> &ContainerName {
        &self.agent.spec().name
    }

    /// Proves the controls and does the work that only a proven container may do. The gateway
    /// opens beside both.
    fn with_gateway<T>(
        &self,
        dir: &SessionDir,
        work: impl FnOnce(VerifiedContainer) -> Result<T, FillError>,
    ) -> Result<(T, Option<OpenNetwork>), FillError> {
        let Self {
            cx, spec, agent, ..
        } = self;
        // What never answers ends with its container.
        let _guard = cx.kill_on_cancel(self.name());
        thread::scope(|scope| {
            let wanted = spec.network.as_ref().zip(self.gateway.as_ref());
            let opening = wanted.map(|(plan, gateway)| {
                scope.spawn(move || {
                    Ok::<_, FillError>(OpenNetwork {
                        gateway: Arc::new(Gateway::open(cx, gateway, agent, plan, dir)?),
                        policy: plan.order.policy.clone(),
                        patterns: plan.patterns.clone(),
                    })
                })
            });
            let worked = VerifiedContainer::verify(cx, agent, spec, &self.spawner)
                .map_err(FillError::from)
                .and_then(work);
            let opened =
                opening.map(|opening| (opening.join()).unwrap_or(Err(FillError::Panicked)));
            // A signal ends the container: then the interrupt is the cause to report.
            cx.cancel.check()?;
            Ok((worked?, opened.transpose()?))
        })
    }
}

/// A workspace that lies in the volume.
struct Sent {
    baseline: Tree,
    skipped: Vec<Skipped>,
    tips: Tips,
    receipt: Receipt,
}

/// Packs the workspace into the porter's stdin and checks the receipt.
fn send(
    out: ToPorter<'_>,
    answers: FromPorter<'_>,
    source: Source<'_>,
    stats: &mut StatCacheWriter<'_>,
    counter: &Counter,
) -> Result<Sent, FillError> {
    let mut shown = Progress::default();
    let mut tell = |progress: Progress| {
        counter.add_files(progress.entries - shown.entries);
        counter.add_bytes(progress.bytes - shown.bytes);
        shown = progress;
    };
    let Source { dir, selector, .. } = source;
    let packed = pack_and_record(dir, selector, out, &mut tell, stats)?;
    out.flush().map_err(PorterError::Stream)?;
    // The other side still writes.
    let baseline = packed.manifest.tree();
    let baseline = baseline.map_err(FillError::Manifest)?;
    let receipt = Receipt::read_from(&mut answers.take(ANSWER_CAP), packed.trailer.entries)
        .map_err(FillError::Receipt)?;
    if receipt.arrived != packed.trailer {
        return Err(FillError::OtherReceipt);
    }
    Ok(Sent {
        baseline,
        skipped: packed.skipped,
        tips: packed.tips,
        receipt,
    })
}
