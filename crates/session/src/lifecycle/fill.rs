//! Proves the controls, and copies the workspace in.

use std::fs::{self, File};
use std::io::Read as _;
use std::thread;

use lazaret_egress::{Patterns, Policy};
use lazaret_image_builder::Pinned;
use lazaret_protocol::{Receipt, RecordError, SurveyError, Verb, Writers};
use lazaret_runtime::{ContainerLease, EngineError, HardenedSpec};
use lazaret_transfer::{
    PackError, Progress, Skipped, StatCacheOutcome, StatCacheWriter, Tips, VolumeState,
    pack_and_record,
};
use lazaret_tree::{AtPath as _, PathError, Tree};

use crate::cancel::Interrupted;
use crate::context::{SessionContext, WORKSPACE};
use crate::event::Counter;
use crate::lifecycle::bootstrap::{Call, PendingCommand};
use crate::lifecycle::create::{CreateError, Hatched, Prepared, SetupGuard, Way};
use crate::lifecycle::protect::{Guard, ProtectError, ProtectionPlan, prove_sealed};
use crate::lifecycle::source::Source;
use crate::lifecycle::update::{Prefetch, Terms, Update, UpdateError, UpdateMode, quiet_since};
use crate::lifecycle::update_summary::Synced;
use crate::lifecycle::verify::VerifyError;
use crate::network::{Gateway, GatewayError};
use crate::porter::conversation::{ANSWER_CAP, ExchangeError, FromPorter, PorterError, ToPorter};
use crate::porter::credentials::{CredentialLender, LendError};
use crate::store::deferred_sync::DeferredSync;
use crate::store::handed_out::HandedOutFile;
use crate::store::record::NewRecord;
use crate::store::sync_state::{Known, SyncStateError};
use crate::store::{LockedSession, SessionDir, StoreError};

/// Why a volume does not hold the workspace, or its command can't start on it.
#[derive(Debug, thiserror::Error)]
pub enum FillError {
    /// What it runs in could not be made.
    #[error(transparent)]
    Create(#[from] CreateError),
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
    /// A file could not be lent.
    #[error(transparent)]
    Lend(#[from] LendError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The session could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
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
#[must_use = "dropping it removes container, volume and session"]
pub(crate) struct Populated {
    nest: SetupGuard,
    spec: HardenedSpec,
    exporter: Pinned,
    skipped: Vec<Skipped>,
    synced: Option<Synced>,
    network: Option<Egress>,
    lender: Option<CredentialLender>,
    poised: PendingCommand,
}

/// The way out of a session that is open.
#[derive(Debug)]
pub(crate) struct Egress {
    pub(crate) gateway: Gateway,
    pub(crate) policy: Policy,
    pub(crate) patterns: Option<Patterns>,
}

/// A session whose command may run now; nothing of it is removed without a decision.
#[derive(Debug)]
#[must_use = "its container runs: stop it"]
pub(crate) struct Launched {
    pub(crate) session: LockedSession,
    pub(crate) spec: HardenedSpec,
    pub(crate) exporter: Pinned,
    pub(crate) synced: Option<Synced>,
    pub(crate) network: Option<Egress>,
    pub(crate) lender: Option<CredentialLender>,
    /// The gateway's container: removed with this value, unless the session is stopped.
    pub(crate) gateway: Option<ContainerLease>,
}

/// A command that may start, and what it may start before.
#[derive(Debug)]
#[must_use = "its container runs: stop it"]
pub(crate) struct Start {
    pub(crate) launched: Launched,
    pub(crate) poised: PendingCommand,
    /// What is synced while the command runs.
    pub(crate) unsynced: DeferredSync,
}

impl Prepared {
    /// Notes by what is known again what the command is about to get.
    fn hand_out(&mut self) -> Result<HandedOutFile, PathError> {
        let ledger = HandedOutFile::of(self.nest.session().dir());
        let routes = self.network.iter().flat_map(|way| &way.plan.order.routes);
        let placeholders = routes.map(|route| (route.name.as_str(), route.placeholder()));
        ledger.add(&self.lent, placeholders)?;
        Ok(ledger)
    }
}

impl Prepared {
    /// Copies the workspace in and proves every control from inside.
    ///
    /// # Errors
    /// A file that can't be read or changes meanwhile (FLT-04), a broken stream, a receipt
    /// that does not match, or a control that is not in force (P12). Container, volume and
    /// session are removed then: the command never starts on half a copy.
    pub(crate) fn populate(
        mut self,
        site: &SessionContext<'_>,
        source: Source<'_>,
        call: &Call,
    ) -> Result<Populated, FillError> {
        let agent = self.nest.session().record().agent();
        let stat_cache = self.nest.session().dir().file("stat-cache");
        let mut stat_file = File::create(&stat_cache).at(&stat_cache)?;
        let mut stats = StatCacheWriter::new(source.workspace, &mut stat_file);
        let dir = self.nest.session().dir().clone();
        let ((sent, poised), network) = site.step("copy in", |counter| {
            beside_gateway(site, &self.spec, self.network.as_ref(), &dir, || {
                let proven = call.prove(site, &self.spec)?;
                let root = WORKSPACE.to_owned();
                proven.first(site, &agent, Verb::Receive { root }, |out, answers| {
                    send(out, answers, source, &mut stats, counter)
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
        self.bounds.starts_in(&baseline)?;
        let fence = ProtectionPlan::of(&baseline, &self.bounds)?;
        self.nest.put(&Known { baseline, volume }, &tips)?;
        if let Some(fence) = fence {
            let guard = self.guard(site)?;
            self.fence(site, guard, &fence)?;
        }
        let ledger = self.hand_out()?;
        let lender = CredentialLender::open(site, &self.spec, self.lent, ledger)?;
        Ok(Populated {
            nest: self.nest,
            spec: self.spec,
            exporter: self.exporter,
            skipped,
            synced: None,
            network,
            lender,
            poised,
        })
    }

    /// Brings a volume that was there before up to date and proves every control from inside.
    /// The workspace is read meanwhile.
    ///
    /// # Errors
    /// As [`Prepared::populate`], but the volume and the session are kept.
    pub(crate) fn update(
        mut self,
        site: &SessionContext<'_>,
        source: Source<'_>,
        reading: Prefetch<'_>,
        terms: Terms,
        call: &Call,
    ) -> Result<Populated, FillError> {
        let session = self.nest.session();
        let (agent, dir) = (session.record().agent(), session.dir().clone());
        let guard = match self.was_fenced || self.bounds.is_fenced() {
            true => Some(self.guard(site)?),
            false => None,
        };
        if let Some(guard) = &guard {
            site.step("protect", |_| guard.release())?;
        }
        let is_surveyed = self.nest.session().record().surveyed && !Known::has_intent(&dir)?;
        let quiet_since = quiet_since(site, self.nest.session().record());
        let footing = match is_surveyed && guard.is_none() {
            true => UpdateMode::Known,
            false => UpdateMode::Survey,
        };
        let (((synced, unsynced), poised), network) = site.step("sync in", |counter| {
            beside_gateway(site, &self.spec, self.network.as_ref(), &dir, || {
                let update = Update {
                    site,
                    container: &agent,
                    dir: &dir,
                    source,
                    terms,
                    counter,
                    writers: Writers::Gone,
                    footing,
                    quiet_since,
                    fenced: None,
                };
                let proven = call.prove(site, &self.spec)?;
                proven.first(site, &agent, update.verb(), |out, answers| {
                    Ok(update.talk(out, answers, reading)?)
                })
            })
        })?;
        self.nest.append(unsynced);
        let fence = match self.bounds.is_fenced() {
            true => {
                let Known { baseline, volume } = Known::read(&dir)?;
                let fence = ProtectionPlan::of(&baseline, &self.bounds)?;
                if let Some(fence) = &fence {
                    fence.holds(&baseline, &volume.tree(), self.nest.session().record())?;
                }
                fence
            }
            false => None,
        };
        match (guard, fence) {
            (Some(guard), Some(fence)) => self.fence(site, guard, &fence)?,
            (Some(guard), None) => guard.end()?,
            (None, _) => {}
        }
        let ledger = self.hand_out()?;
        let lender = CredentialLender::open(site, &self.spec, self.lent, ledger)?;
        Ok(Populated {
            nest: self.nest,
            spec: self.spec,
            exporter: self.exporter,
            skipped: synced.skipped.clone(),
            synced: Some(synced),
            network,
            lender,
            poised,
        })
    }
}

impl Prepared {
    /// Makes the container that protects.
    fn guard<'s>(&mut self, site: &'s SessionContext<'s>) -> Result<Guard<'s>, ProtectError> {
        let record = self.nest.session().record().clone();
        let nest = &mut self.nest;
        Guard::start(site, &record, &self.exporter, |lease| {
            nest.created(site, lease)
        })
    }

    /// Protects what is to be protected, and has everything tried against it.
    fn fence(
        &mut self,
        site: &SessionContext<'_>,
        guard: Guard<'_>,
        fence: &ProtectionPlan,
    ) -> Result<(), ProtectError> {
        fence.report(site.events);
        let record = self.nest.session().record();
        site.step("protect", |_| {
            guard.protect(fence)?;
            guard.end()?;
            prove_sealed(site, record, fence, &self.bounds)
        })
    }
}

impl Populated {
    /// Returns what was left out, and why.
    pub(crate) fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Returns what an update came to; `None` where everything was copied in.
    pub(crate) fn synced(&self) -> Option<&Synced> {
        self.synced.as_ref()
    }

    /// Returns the session's directory.
    pub(crate) fn dir(&mut self) -> SessionDir {
        self.nest.session().dir().clone()
    }

    /// Marks the session as running, before the command gets its first instruction: the
    /// process that is to become it still waits.
    ///
    /// # Errors
    /// When the record can't be written; then it is as it was before.
    pub(crate) fn launch(mut self, new: NewRecord) -> Result<Start, StoreError> {
        self.nest.update(|record| record.run_again(new))?;
        let Hatched {
            session,
            gateway,
            unsynced,
        } = self.nest.hatch();
        let launched = Launched {
            session,
            network: self.network,
            lender: self.lender,
            gateway,
            spec: self.spec,
            exporter: self.exporter,
            synced: self.synced,
        };
        Ok(Start {
            launched,
            poised: self.poised,
            unsynced,
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
    let Source {
        workspace,
        selector,
    } = source;
    let packed = pack_and_record(workspace, selector, out, &mut tell, stats)?;
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

/// Opens the way out where there is to be one, beside other work in the command's container.
fn beside_gateway<T>(
    site: &SessionContext<'_>,
    agent: &HardenedSpec,
    way: Option<&Way>,
    dir: &SessionDir,
    work: impl FnOnce() -> Result<T, FillError>,
) -> Result<(T, Option<Egress>), FillError> {
    // What never answers ends with its container.
    let _guard = site.doom(&agent.spec().name);
    thread::scope(|scope| {
        let opening = way.map(|Way { plan, spec }| {
            scope.spawn(move || {
                Ok::<_, FillError>(Egress {
                    gateway: Gateway::open(site, spec, agent, plan, dir)?,
                    policy: plan.order.policy.clone(),
                    patterns: plan.patterns.clone(),
                })
            })
        });
        let worked = work();
        let opened = opening.map(|opening| (opening.join()).unwrap_or(Err(FillError::Panicked)));
        // A signal ends the container: then the interrupt is the cause to report.
        site.interrupt.check()?;
        Ok((worked?, opened.transpose()?))
    })
}
