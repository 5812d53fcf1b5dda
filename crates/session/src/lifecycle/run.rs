//! The whole way of a session, from a workspace to a collected batch.

use std::any::Any;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use lazaret_runtime::{ContainerLease, SessionId};
use lazaret_tree::PathError;

use crate::cancel::{CancelLevel, Interrupted};
use crate::context::SessionContext;
use crate::engine::memory::Recalled;
use crate::engine::resources::VolumePresence;
use crate::event::{Event, EventSink};
use crate::lifecycle::background::Tasks;
use crate::lifecycle::bootstrap::{Call, PendingCommand, TerminalMode};
use crate::lifecycle::collect::{CollectError, Collected};
use crate::lifecycle::create::{CreateError, Prepared, Setting};
use crate::lifecycle::fill::{FillError, Launched, Start};
use crate::lifecycle::follow::{self, CommandError, CommandLimits, CommandSpec};
use crate::lifecycle::latch::{CommandEnded, Latch};
use crate::lifecycle::open::ReopenedSession;
use crate::lifecycle::source::Source;
use crate::lifecycle::stop::{StopError, Stopped};
use crate::lifecycle::update::{Prefetch, Terms, UpdateError};
use crate::lifecycle::update_summary::Synced;
use crate::live::pause::StalePauseWatch;
use crate::network::{Gateway, JournalEnd, PolicyWatcher, PortBinding, PortForwarder};
use crate::output::relay::CommandOutputSink;
use crate::pool::{self, PoolError};
use crate::porter::credentials::RefreshedCredentials;
use crate::store::record::{
    Egress, GateLimits, KeepVolume, NewRecord, Record, SelectionRecord, identity,
};
use crate::store::run_log::{LogEnd, LogFile};
use crate::store::{Store, StoreError};

/// What is to be run, where, and within which limits.
#[derive(Debug)]
pub struct RunSpec<'a> {
    /// The session's name.
    pub id: SessionId,
    /// The session, where it was there before.
    pub again: Option<ReopenedSession>,
    /// The workspace, and what of it goes in.
    pub source: Source<'a>,
    /// What is being read of a session that was there before.
    pub reading: Option<Prefetch<'a>>,
    /// The profile's name.
    pub profile: String,
    /// The command.
    pub invocation: CommandSpec,
    /// What it runs in.
    pub setting: Setting,
    /// How long it may take.
    pub patience: CommandLimits,
    /// What the gate holds the collection to.
    pub gate: GateLimits,
    /// What becomes of the volume.
    pub keep: KeepVolume,
    /// What goes in, for the record.
    pub selection: SelectionRecord,
    /// Ports of the host's that lead inside.
    pub ports: Vec<PortBinding>,
    /// The user's side of the command's streams.
    pub io: &'a dyn CommandIo,
    /// Whether the command has the user's terminal.
    pub connection: TerminalMode,
}

/// Why a run ended before the gate.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The user wants an end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// A place of the pool could not be taken.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// What it runs in could not be made.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The volume does not hold the workspace.
    #[error(transparent)]
    Fill(#[from] FillError),
    /// The workspace could not be read.
    #[error(transparent)]
    Update(#[from] UpdateError),
    /// The session could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// The command can't have the terminal.
    #[error("the terminal can't be given to the command")]
    Terminal(#[source] io::Error),
    /// How the command ended is not known. What it did is in the volume.
    #[error("lost sight of the command")]
    Lost {
        /// The session.
        id: SessionId,
        /// Why.
        source: CommandError,
    },
    /// The command could not be ended in good order. What it did is in the volume.
    #[error("{source}")]
    NotStopped {
        /// The session.
        id: SessionId,
        /// Why.
        source: StopError,
    },
    /// What the command did is still in the volume.
    #[error("{source}")]
    NotCollected {
        /// The session.
        id: SessionId,
        /// Why.
        source: CollectError,
    },
    /// The user did not want to wait for the collection.
    #[error("interrupted")]
    Insisted {
        /// The session.
        id: SessionId,
    },
}

/// The user's side of a command's streams.
pub trait CommandIo: Sync + fmt::Debug {
    /// Returns where stdout goes.
    fn stdout(&self) -> Box<dyn Write + Send>;
    /// Returns where stderr goes.
    fn stderr(&self) -> Box<dyn Write + Send>;
    /// Gives the user's terminal to the command, until what is returned is dropped.
    ///
    /// # Errors
    /// When there is none.
    fn take_terminal(&self) -> io::Result<Box<dyn Any>>;
}

/// What a run came to, before the gate.
#[derive(Debug)]
pub struct Cycle {
    /// What was collected.
    pub collected: Collected,
    /// What was brought up to date first, where the session was there before.
    pub synced: Option<Synced>,
}

/// Runs a session up to the gate. What its engine said of itself is asked again meanwhile
/// where it was `recalled`.
///
/// # Errors
/// Before the command starts, everything that was made is removed again. Afterwards
/// nothing is: `recover` takes up what a failure left.
pub fn run(
    site: &SessionContext<'_>,
    store: &Store,
    order: RunSpec<'_>,
    recalled: Option<Recalled<'_>>,
) -> Result<Cycle, RunError> {
    let cycle = cycle(site, store, order, recalled.as_ref());
    if let (Err(_), Some(recalled)) = (&cycle, &recalled) {
        // Whatever it was: the next start asks.
        recalled.forget();
    }
    cycle
}

fn cycle(
    site: &SessionContext<'_>,
    store: &Store,
    order: RunSpec<'_>,
    recalled: Option<&Recalled<'_>>,
) -> Result<Cycle, RunError> {
    let new = NewRecord {
        id: order.id,
        store: site.store_id.clone(),
        workspace: order.source.workspace.path().to_path_buf(),
        workspace_identity: identity(order.source.workspace.identity()),
        profile: order.profile,
        command: order.invocation.argv.clone(),
        engine: site.info.endpoint.clone(),
        image: order.setting.image.reference().to_string(),
        gate: order.gate,
        keep: order.keep,
        selection: order.selection,
        bounds: order.setting.bounds.clone(),
        egress: order.setting.network.as_ref().map(|plan| Egress {
            mode: plan.order.policy.mode,
            totals: None,
            gateway_lost: false,
        }),
    };
    let filling = order.setting.filling(&new.profile);
    let call = Call {
        invocation: order.invocation,
        workdir: order.setting.bounds.workdir(),
        connection: order.connection,
        timeout: order.patience.timeout,
    };
    let mut populated = match order.again {
        None => {
            let prepared = match pool::take(site, store, &new, order.setting.wanted())? {
                Some(session) => Prepared::adopt(site, session, order.setting)?,
                None => {
                    let session = store.create(Record::new(new.clone(), SystemTime::now()))?;
                    Prepared::create(site, session, order.setting)?
                }
            };
            prepared.populate(site, order.source, &call)?
        }
        Some(again) => {
            let volume = again.volume;
            let terms = Terms {
                gate: order.gate,
                ..Terms::of(again.session.record())
            };
            let dir = again.session.dir().clone();
            let prepared = Prepared::again(site, again, order.setting)?;
            match (volume, order.reading) {
                (VolumePresence::Present, Some(reading)) => {
                    prepared.update(site, order.source, reading, terms, &call)?
                }
                (VolumePresence::Present, None) => {
                    let reading = Prefetch::whole(&dir, order.source)?;
                    prepared.update(site, order.source, reading, terms, &call)?
                }
                (VolumePresence::Missing, _) => prepared.populate(site, order.source, &call)?,
            }
        }
    };
    if let Some(synced) = populated.synced() {
        site.events.event(Event::Updated(synced));
    }
    site.events.event(Event::LeftOut(populated.skipped()));
    // Before the command may start: a log that can't be written costs nothing yet.
    let log = LogFile::create(&populated.dir().file("log"))?;
    let Start {
        launched,
        poised,
        unsynced,
    } = populated.launch(new)?;
    let record = launched.session.record().clone();
    let id = record.id.clone();
    let image = launched.exporter.clone();
    let dir = launched.session.dir().clone();
    let over = Latch::default();
    thread::scope(|scope| {
        // However this ends, the background tasks stop waiting for the command.
        let _lost = over.set_on_drop(CommandEnded::Lost);
        let tasks = Tasks {
            site,
            store,
            dir: &dir,
            record: &record,
            exporter: &image,
            workspace: order.source.workspace,
            filling: &filling,
            recalled,
        };
        let background = tasks.start(scope, &over, unsynced);
        let launched = launched.run(
            site,
            Following {
                call: &call,
                poised,
                patience: order.patience,
                ports: order.ports,
                io: order.io,
                log,
                over: &over,
            },
        )?;
        if let Ok(Err(error)) = background.syncing.join() {
            // What the collection writes is synced by itself.
            site.events.event(Event::NotSynced(&error));
        }
        let stopped =
            Stopped::stop(site, launched.session, launched.exporter).map_err(|source| {
                RunError::NotStopped {
                    id: id.clone(),
                    source,
                }
            })?;
        let standby = background.standby.join().ok().flatten();
        if site.interrupt.urgency() == Some(CancelLevel::Insisted) {
            return Err(RunError::Insisted { id });
        }
        let collected = (stopped.collect(site, standby))
            .map_err(|source| RunError::NotCollected { id, source })?;
        Ok(Cycle {
            collected,
            synced: launched.synced,
        })
    })
}

/// What a command is started with, and followed by.
#[derive(Debug)]
struct Following<'a> {
    call: &'a Call,
    poised: PendingCommand,
    patience: CommandLimits,
    ports: Vec<PortBinding>,
    io: &'a dyn CommandIo,
    log: LogFile,
    /// Set once the command has ended.
    over: &'a Latch<CommandEnded>,
}

impl Launched {
    /// Runs the command to its end and writes down how it ended.
    ///
    /// # Errors
    /// When the engine is lost: the container may still run then, and `recover` ends it.
    fn run(
        mut self,
        site: &SessionContext<'_>,
        following: Following<'_>,
    ) -> Result<Self, RunError> {
        let Following {
            call,
            poised,
            patience,
            ports,
            io,
            log,
            over,
        } = following;
        let record = self.session.record().clone();
        let relay = Arc::new(CommandOutputSink::new(
            log,
            io.stdout(),
            io.stderr(),
            self.network
                .as_ref()
                .and_then(|network| network.patterns.clone()),
        ));
        if let Some(lender) = &self.lender {
            lender.watch_over(&relay);
        }
        let argv = &call.invocation.argv;
        site.events.event(Event::CommandStarts { argv });
        for port in &ports {
            let (host, inside) = (port.host, port.inside);
            site.events.event(Event::PortOpen { host, inside });
        }
        // From here on nothing of ours is said until it is given back.
        let terminal = match call.connection {
            TerminalMode::Terminal => Some(io.take_terminal().map_err(RunError::Terminal)?),
            TerminalMode::Streams => None,
        };
        let published = PortForwarder::start(&site.engine, &record.agent(), ports);
        let started = std::time::Instant::now();
        let ended = thread::scope(|scope| {
            if let Some(network) = &self.network {
                let watcher = PolicyWatcher {
                    gateway: &network.gateway,
                    dir: self.session.dir(),
                    events: site.events,
                    over,
                };
                watcher.begin(&network.policy)?;
                scope.spawn(move || watcher.watch());
            }
            let told = call.go(poised, &*site.engine, &self.spec);
            let ended = told.map_err(CommandError::from).and_then(|told| {
                follow::run(
                    &*site.engine,
                    &record.agent(),
                    told,
                    patience,
                    Arc::clone(&relay) as Arc<dyn follow::Output>,
                    site.interrupt,
                    StalePauseWatch::new(self.session.dir(), &record),
                )
            });
            over.set(match &ended {
                Ok(_) => CommandEnded::Collect,
                Err(_) => CommandEnded::Lost,
            });
            Ok::<_, RunError>(ended)
        })?;
        drop(published);
        relay.finish();
        drop(terminal);
        if let Some(lender) = self.lender.take() {
            tell_renewed(site.events, &lender.finish());
        }
        site.timings.note("run", started.elapsed());
        let egress = self
            .network
            .take()
            .map(|network| settle(site, &record, &network.gateway));
        // Stopping the session removes it; until here it would have gone with this value.
        drop(self.gateway.take().map(ContainerLease::keep));
        let mut end = ended.map_err(|source| RunError::Lost {
            id: record.id.clone(),
            source,
        })?;
        if end.interrupted {
            // The command has ended, as the user wanted; what it did is still collected.
            site.interrupt.answered();
        }
        match relay.log().end() {
            LogEnd::Complete => {}
            LogEnd::Truncated { dropped } => {
                end.log_truncated = true;
                site.events.event(Event::LogTruncated { dropped });
            }
            LogEnd::Failed(error) => {
                end.log_truncated = true;
                site.events.event(Event::LogFailed { cause: &error });
            }
        }
        self.session.update(|record| {
            record.end = Some(end);
            record.egress = egress.or(record.egress);
        })?;
        Ok(self)
    }
}

/// Says which logins were renewed inside.
fn tell_renewed(events: &dyn EventSink, renewed: &RefreshedCredentials) {
    for name in &renewed.names {
        events.event(Event::CredentialRefreshed { name });
    }
    if let Some(cause) = &renewed.failure {
        events.event(Event::CredentialLost { cause });
    }
    if renewed.is_cut {
        events.event(Event::CredentialChangesCut);
    }
}

/// Closes the network, and says what was decided.
fn settle(site: &SessionContext<'_>, record: &Record, gateway: &Gateway) -> Egress {
    let gateway_lost = gateway.has_ended();
    let (totals, journal) = gateway.finish();
    if let JournalEnd::Failed(cause) = journal {
        site.events.event(Event::DecisionsLost { cause: &cause });
    }
    let id = &record.id;
    site.events.event(Event::NetworkClosed { id, totals });
    Egress {
        mode: record
            .egress
            .map_or(lazaret_egress::Mode::Allowlist, |egress| egress.mode),
        totals: Some(totals),
        gateway_lost,
    }
}
