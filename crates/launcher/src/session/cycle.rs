//! The whole way of a session, from a workspace to a collected batch.

use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use lazaret_runtime::{ContainerLease, SessionId};
use lazaret_transfer::{Clash, ClashKind, SkipReason, Skipped};
use lazaret_tree::escape;

use super::background::Tasks;
use super::berth::VolumePresence;
use super::collect::Collected;
use super::command::{self, CommandError, CommandSpec, Patience};
use super::egress::{Bound, Gateway, JournalEnd, Published, Watcher};
use super::kept::Again;
use super::latch::{CommandEnded, Latch};
use super::lend::Renewed;
use super::log::{LogEnd, LogFile};
use super::pause::Watchdog;
use super::poised::{Call, Connection, Poised};
use super::pool;
use super::populate::{Launched, Start};
use super::prepare::{Prepared, Setting};
use super::record::{Egress, GateLimits, KeepVolume, NewRecord, Picked, Record, identity};
use super::relay::{Destination, Relay};
use super::site::Site;
use super::source::Source;
use super::stop::Stopped;
use super::store::Store;
use super::sync::{Reading, Synced, Terms};
use super::terminal;
use crate::engine_memory::Recalled;
use crate::failure::{Failure, FailureKind, OrFail as _};
use crate::interrupt::Urgency;
use crate::ui::{Output, Ui, bytes, count, elide};

/// What is to be run, where, and within which limits.
#[derive(Debug)]
pub struct Order<'a> {
    /// The session's name.
    pub id: SessionId,
    /// The session, where it was there before.
    pub again: Option<Again>,
    /// The workspace, and what of it goes in.
    pub source: Source<'a>,
    /// What is being read of a session that was there before.
    pub reading: Option<Reading<'a>>,
    /// The profile's name.
    pub profile: String,
    /// The command.
    pub invocation: CommandSpec,
    /// What it runs in.
    pub setting: Setting,
    /// How long it may take.
    pub patience: Patience,
    /// What the gate holds the collection to.
    pub gate: GateLimits,
    /// What becomes of the volume.
    pub keep: KeepVolume,
    /// What goes in, for the record.
    pub selection: Picked,
    /// Ports of the host's that lead inside.
    pub ports: Vec<Bound>,
    /// What stdout and stderr of the user are.
    pub destinations: (Destination, Destination),
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
    site: &Site<'_>,
    store: &Store,
    order: Order<'_>,
    recalled: Option<Recalled<'_>>,
) -> Result<Cycle, Failure> {
    let cycle = cycle(site, store, order, recalled.as_ref());
    if let (Err(_), Some(recalled)) = (&cycle, &recalled) {
        // Whatever it was: the next start asks.
        recalled.forget();
    }
    cycle
}

fn cycle(
    site: &Site<'_>,
    store: &Store,
    order: Order<'_>,
    recalled: Option<&Recalled<'_>>,
) -> Result<Cycle, Failure> {
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
        connection: match order.destinations.0 {
            Destination::Screen => Connection::Terminal,
            _ => Connection::Streams,
        },
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
                    prepared.update(site, (order.source, reading), terms, &call)?
                }
                (VolumePresence::Present, None) => {
                    let reading = Reading::whole(&dir, order.source)?;
                    prepared.update(site, (order.source, reading), terms, &call)?
                }
                (VolumePresence::Missing, _) => prepared.populate(site, order.source, &call)?,
            }
        }
    };
    if let Some(synced) = populated.synced() {
        report_synced(site.ui, synced);
    }
    report_skipped(site, populated.skipped());
    // Before the command may start: a log that can't be written costs nothing yet.
    let log = LogFile::create(&populated.dir()?.file("log"))?;
    let Start {
        launched,
        poised,
        unsynced,
    } = populated.launch(new)?;
    let record = launched.session.record().clone();
    let id = record.id.clone();
    let image = launched.exporter.clone();
    let kept = |failure: Failure| {
        failure.hinted(format!(
            "Nothing is lost: `lazaret recover {id}` goes on from here."
        ))
    };
    let dir = launched.session.dir().clone();
    let over = Latch::default();
    thread::scope(|scope| {
        // However this ends, nobody beside it waits for longer.
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
                destinations: order.destinations,
                log,
                over: &over,
            },
        )?;
        if let Ok(Err(error)) = background.syncing.join() {
            // What the collection writes is synced by itself.
            let cause = escape(error.to_string().as_bytes());
            (site.ui).warn(&format!("a power cut may take this session: {cause}"));
        }
        let stopped = Stopped::stop(site, launched.session, launched.exporter).map_err(&kept)?;
        let standby = background.standby.join().ok().flatten();
        if site.interrupt.urgency() == Some(Urgency::Insisted) {
            return Err(kept(crate::interrupt::Interrupted.into()));
        }
        let collected = stopped.collect(site, standby).map_err(&kept)?;
        Ok(Cycle {
            collected,
            synced: launched.synced,
        })
    })
}

/// Says what went in, and names what both sides changed, before the command starts.
pub fn report_synced(ui: &Ui, synced: &Synced) {
    let Synced {
        sent,
        removed,
        adopted,
        conflicts,
        ..
    } = synced;
    ui.status(&format!(
        "sync: {} sent ({}), {} removed, {} the same on both sides, {} in conflict",
        count(*sent),
        bytes(synced.bytes),
        count(*removed),
        count(*adopted),
        count(conflicts.len() as u64)
    ));
    for clash in conflicts {
        ui.warn(&describe(clash));
    }
}

/// Says what is in the way of one change of the host.
pub fn describe(clash: &Clash) -> String {
    let path = escape(clash.path.as_str().as_bytes());
    match clash.kind {
        // What was committed outside does not go in, and what was committed inside waits there.
        ClashKind::BothChanged if clash.path.as_str() == ".git" => {
            "both sides changed: .git (the copy keeps its own commits; yours do not go in)"
                .to_owned()
        }
        ClashKind::BothChanged => {
            format!("both sides changed: {path} (the copy keeps its own; the gate merges or asks)")
        }
        ClashKind::NoParent => {
            format!("not sent: {path} (the copy has no directory for it any more)")
        }
        ClashKind::Buried => {
            format!("not sent: {path} (it would bury what the copy has below it)")
        }
    }
}

/// Names what stayed out, once, before the command starts.
fn report_skipped(site: &Site<'_>, skipped: &[Skipped]) {
    const MOST: usize = 10;
    let notable: Vec<&Skipped> = skipped
        .iter()
        .filter(|skip| is_notable(skip.reason))
        .collect();
    for skip in notable.iter().take(MOST) {
        site.ui.warn(&format!(
            "left out: {} ({})",
            escape(&skip.name),
            skip.reason
        ));
    }
    if notable.len() > MOST {
        site.ui.warn(&format!(
            "left out: {} more (see --dry-run)",
            notable.len() - MOST
        ));
    }
    for skip in skipped.iter().filter(|skip| !is_notable(skip.reason)) {
        site.ui.detail(&format!(
            "left out: {} ({})",
            escape(&skip.name),
            skip.reason
        ));
    }
}

/// Whether a user would want to know without asking: everything that no ignore file named.
fn is_notable(reason: SkipReason) -> bool {
    !matches!(
        reason,
        SkipReason::Cache
            | SkipReason::LazaretIgnore
            | SkipReason::GitIgnore
            | SkipReason::Profile
            | SkipReason::GitNone
            | SkipReason::GitPart
    )
}

/// What a command is started with, and followed by.
#[derive(Debug)]
struct Following<'a> {
    call: &'a Call,
    poised: Poised,
    patience: Patience,
    ports: Vec<Bound>,
    destinations: (Destination, Destination),
    log: LogFile,
    /// Set once the command has ended.
    over: &'a Latch<CommandEnded>,
}

impl Launched {
    /// Runs the command to its end and writes down how it ended.
    ///
    /// # Errors
    /// When the engine is lost: the container may still run then, and `recover` ends it.
    fn run(mut self, site: &Site<'_>, following: Following<'_>) -> Result<Self, Failure> {
        let Following {
            call,
            poised,
            patience,
            ports,
            destinations,
            log,
            over,
        } = following;
        let record = self.session.record().clone();
        let relay = Arc::new(Relay::new(
            log,
            (Box::new(site.ui.writer(Output::Stdout)), destinations.0),
            (Box::new(site.ui.writer(Output::Stderr)), destinations.1),
            self.network
                .as_ref()
                .and_then(|network| network.patterns.clone()),
        ));
        if let Some(lender) = &self.lender {
            lender.watch_over(&relay);
        }
        let is_screen = destinations.0 == Destination::Screen;
        let shown = elide(
            &show_command(&call.invocation.argv),
            site.ui.width().saturating_sub(10),
        );
        site.ui.status(&format!("running {shown}"));
        for port in &ports {
            let (host, inside) = (port.host, port.inside);
            site.ui
                .status(&format!("127.0.0.1:{host} leads to port {inside} inside"));
        }
        // From here on nothing of ours is said until it is given back.
        let raw = match is_screen {
            true => Some(terminal::Raw::take(site.ui.writer(Output::Stdout)).or_fail(
                FailureKind::Usage,
                "the terminal can't be given to the command",
            )?),
            false => None,
        };
        let published = Published::start(&site.engine, &record.agent(), ports);
        let started = std::time::Instant::now();
        let ended = thread::scope(|scope| {
            if let Some(network) = &self.network {
                let watcher = Watcher {
                    gateway: &network.gateway,
                    dir: self.session.dir(),
                    ui: site.ui,
                    over,
                };
                watcher.begin(&network.policy)?;
                scope.spawn(move || watcher.watch());
            }
            let told = call.go(poised, &*site.engine, &self.spec);
            let ended = told.map_err(CommandError::from).and_then(|told| {
                command::run(
                    (&*site.engine, &record.agent()),
                    told,
                    patience,
                    Arc::clone(&relay) as Arc<dyn command::Output>,
                    site.interrupt,
                    Watchdog::new(self.session.dir(), &record),
                )
            });
            over.set(match &ended {
                Ok(_) => CommandEnded::Collect,
                Err(_) => CommandEnded::Lost,
            });
            Ok::<_, Failure>(ended)
        })?;
        drop(published);
        relay.finish();
        drop(raw);
        if let Some(lender) = self.lender.take() {
            report_renewed(site.ui, &lender.finish());
        }
        site.timings.note("run", started.elapsed());
        let egress = self
            .network
            .take()
            .map(|network| settle(site, &record, &network.gateway));
        // Stopping the session removes it; until here it would have gone with this value.
        drop(self.gateway.take().map(ContainerLease::keep));
        let mut end = ended.map_err(|error| lost(error, &record.id))?;
        if end.interrupted {
            // The command has ended, as the user wanted; what it did is still collected.
            site.interrupt.answered();
        }
        match relay.log().end() {
            LogEnd::Complete => {}
            LogEnd::Truncated { dropped } => {
                end.log_truncated = true;
                site.ui.warn(&format!(
                    "the log is full: {dropped} bytes of output are not in it"
                ));
            }
            LogEnd::Failed(error) => {
                end.log_truncated = true;
                site.ui
                    .warn(&format!("the log could not be written: {error}"));
            }
        }
        self.session.update(|record| {
            record.end = Some(end);
            record.egress = egress.or(record.egress);
        })?;
        Ok(self)
    }
}

/// Says which logins were renewed inside, and are kept for the next session.
fn report_renewed(ui: &Ui, renewed: &Renewed) {
    for name in &renewed.names {
        ui.status(&format!(
            "the login {name} was renewed inside: the next session is lent the new one, until \
             yours changes"
        ));
    }
    if let Some(cause) = &renewed.failure {
        ui.warn(&format!(
            "a login that was renewed inside could not be kept, log in again: {cause}"
        ));
    }
    if renewed.is_cut {
        ui.warn("a lent login changed too often inside: later changes of it are not kept");
    }
}

/// Closes the network, and says what was decided.
fn settle(site: &Site<'_>, record: &Record, gateway: &Gateway) -> Egress {
    let gateway_lost = gateway.has_ended();
    let (totals, journal) = gateway.finish();
    if let JournalEnd::Failed(cause) = journal {
        site.ui
            .warn(&format!("the log of the network is not complete: {cause}"));
    }
    site.ui.status(&format!(
        "network: {} allowed, {} denied (lazaret policy log {})",
        count(totals.allowed),
        count(totals.denied),
        record.id
    ));
    Egress {
        mode: record
            .egress
            .map_or(lazaret_egress::Mode::Allowlist, |egress| egress.mode),
        totals: Some(totals),
        gateway_lost,
    }
}

fn lost(error: CommandError, id: &SessionId) -> Failure {
    Failure::new(FailureKind::Engine, error)
        .context("lost sight of the command")
        .hinted(format!(
            "Its changes are in the volume: `lazaret recover {id}` collects them."
        ))
}

/// Shows a command as it would be typed, escaped.
pub fn show_command(argv: &[String]) -> String {
    argv.iter()
        .map(|word| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
            if !word.is_empty() && word.chars().all(plain) {
                word.clone()
            } else {
                format!("'{}'", escape(word.as_bytes()))
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}
