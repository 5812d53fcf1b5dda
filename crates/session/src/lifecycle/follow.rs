//! Follows the command to its end, and writes down how it ended.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Instant;

use lazaret_protocol::verb::CommandStdin;
use lazaret_runtime::{ConnectionChange, ContainerLease, ContainerState, Spawner};

use crate::context::SessionContext;
use crate::event::{Event, EventSink};
use crate::keeper::live::LiveContainer;
use crate::lifecycle::command_io::UserSide;
use crate::lifecycle::fill::OpenNetwork;
use crate::lifecycle::latch::{CommandEnded, Latch};
use crate::lifecycle::launch::Running;
use crate::lifecycle::outcome::RunError;
use crate::lifecycle::supervise::{self, CommandError, Output, StartedCommand};
use crate::lifecycle::update_summary::UpdateSummary;
use crate::network::{Gateway, JournalEnd, LivePolicy, NetworkEnd, PortForwarder};
use crate::output::relay::CommandOutputSink;
use crate::porter::credentials::RefreshedCredentials;
use crate::services::status::ServiceChange;
use crate::services::{Services, StopOnDrop};
use crate::spec::{RunSpec, TerminalMode};
use crate::store::LockedSession;
use crate::store::record::{NetworkSummary, Record};
use crate::store::run_log::LogEnd;

/// A session whose command has ended, and whose record says how.
#[derive(Debug)]
#[must_use = "its container runs: stop it"]
pub struct Ended {
    pub(super) session: LockedSession,
    pub(super) update: Option<UpdateSummary>,
    /// What keeps the command's processes alive until they are stopped.
    pub(super) spawner: Arc<Spawner>,
}

impl Running {
    /// Restarts services that die, until the returned value is dropped.
    pub(super) fn supervise_services<'scope>(
        &mut self,
        scope: &'scope thread::Scope<'scope, '_>,
        cx: &'scope SessionContext<'scope>,
        tell: &'scope (dyn Fn(ServiceChange) + Sync),
    ) -> StopOnDrop {
        let placement = self.container.pending.placement;
        std::mem::take(&mut self.services).supervise(scope, cx, placement, tell)
    }

    /// Lets the command start, and follows it to its end.
    ///
    /// # Errors
    /// When the engine is lost: the container may still run then, and `recover` ends it.
    pub(super) fn follow(
        mut self,
        cx: &SessionContext<'_>,
        spec: &RunSpec<'_>,
        user: UserSide<'_>,
        services: Services,
        command: &Latch<CommandEnded>,
    ) -> Result<Ended, RunError> {
        // However the command ends, it is not paused any more.
        let _over = self.pauses.give_up_on_drop();
        let UserSide { io, ports } = user;
        let record = self.session.record().clone();
        let container = self.container;
        let patterns = (container.network.as_ref()).and_then(|network| network.patterns.clone());
        let live = LiveContainer {
            engine: Arc::clone(&cx.engine),
            spawner: Arc::clone(&container.spawner),
            agent: container.agent.clone(),
            placement: container.pending.placement,
            env: spec.command.env.clone(),
            workdir: spec.scope.workdir(),
            patterns: patterns.clone(),
            pauses: Arc::clone(&self.pauses),
            policy: container.network.as_ref().map(live_policy),
            services,
        };
        io.reachable(self.session.dir(), live)
            .map_err(|source| RunError::Unreachable {
                id: record.id.clone(),
                source,
            })?;
        if let (Some(network), Some(tell)) = (&container.network, io.on_denied()) {
            network.gateway.on_denied(tell);
        }
        let (stdout, stderr) = (io.stdout(), io.stderr());
        let sink = Arc::new(CommandOutputSink::new(self.log, stdout, stderr, patterns));
        if let Some(lender) = &self.lender {
            lender.watch_over(&sink);
        }
        let argv = &spec.command.argv;
        cx.events.event(Event::CommandStarts { argv });
        for port in &ports {
            let (host, inside) = (port.host, port.inside);
            cx.events.event(Event::PortOpen { host, inside });
        }
        io.started(argv);
        let terminal = match spec.command.terminal {
            TerminalMode::Interactive => io.terminal(),
            TerminalMode::None => None,
        };
        let forwarder = PortForwarder::start(&cx.engine, &record.agent(), ports);
        let started = Instant::now();
        let ended = thread::scope(|scope| {
            let gateway = container.network.as_ref().map(|network| &network.gateway);
            let _closed = gateway.map(|gateway| {
                scope.spawn(|| {
                    if gateway.await_end() == NetworkEnd::Lost {
                        cx.events.event(Event::GatewayLost);
                    }
                });
                gateway.close_on_drop()
            });
            let _told = cx.info.resumes_connections().then(|| {
                let changes = container.spawner.connection_changes();
                scope.spawn(move || tell_of_connection(cx.events, &changes));
                container.spawner.end_changes_on_drop()
            });
            let size = terminal.as_ref().map(|terminal| terminal.size);
            let input = match spec.command.stdin {
                CommandStdin::Kept => io.stdin(),
                CommandStdin::Empty => None,
            };
            let input = terminal.map(|terminal| terminal.input).or(input);
            let started = (container.pending).go(&container.spawner, &container.agent, spec, size);
            let ended = started.map_err(CommandError::from).and_then(|mut process| {
                if spec.command.stdin == CommandStdin::Kept {
                    process.stdin = process.stdin.map(|to| self.notes.input.note(to));
                }
                supervise::run(
                    &*cx.engine,
                    &record.agent(),
                    StartedCommand { process, input },
                    spec.command.limits,
                    Arc::clone(&sink) as Arc<dyn Output>,
                    cx.cancel,
                    &self.pauses,
                )
            });
            if let Ok(end) = &ended {
                io.ended(end, &|| is_up(cx, &record));
            }
            command.set(match &ended {
                Ok(_) => CommandEnded::Collect,
                Err(_) => CommandEnded::Lost,
            });
            ended
        });
        drop(forwarder);
        sink.finish();
        if let Some(lender) = self.lender.take() {
            report_refreshed(cx.events, &lender.finish());
        }
        cx.timings.note("run", started.elapsed());
        let egress =
            (container.network).map(|network| close_network(cx, &record, &network.gateway));
        // Stopping the session removes it; until here it would have gone with this value.
        drop(self.gateway.take().map(ContainerLease::keep));
        let mut end = ended.map_err(|source| RunError::Lost {
            id: record.id.clone(),
            source,
        })?;
        if end.interrupted {
            // The command has ended, as the user wanted; what it did is still collected.
            cx.cancel.acknowledge();
        }
        match sink.log().end() {
            LogEnd::Complete => {}
            LogEnd::Truncated { dropped } => {
                end.log_truncated = true;
                cx.events.event(Event::LogTruncated { dropped });
            }
            LogEnd::Failed(error) => {
                end.log_truncated = true;
                cx.events.event(Event::LogFailed { cause: &error });
            }
        }
        if let Err(error) = (self.notes).end(self.session.dir(), spec.command.stdin, end, egress) {
            let cause = &error.to_string();
            cx.events.event(Event::LogFailed { cause });
        }
        self.session.update(|record| {
            record.end = Some(end);
            record.egress = egress.or(record.egress);
        })?;
        Ok(Ended {
            session: self.session,
            update: container.update,
            spawner: container.spawner,
        })
    }
}

/// Tells of the connection to another machine until the command has ended.
fn tell_of_connection(events: &dyn EventSink, changes: &Receiver<ConnectionChange>) {
    for change in changes {
        events.event(match change {
            ConnectionChange::Lost => Event::ConnectionLost,
            ConnectionChange::Resumed => Event::ConnectionResumed,
        });
    }
}

/// Whether the command's container still runs. An engine that does not answer has not said no.
fn is_up(cx: &SessionContext<'_>, record: &Record) -> bool {
    match cx.engine.container(&record.agent()) {
        Ok(Some(container)) => !matches!(container.state, ContainerState::Exited { .. }),
        Ok(None) => false,
        Err(_) => true,
    }
}

/// Returns what the command may reach. It ends with the gateway, which it does not keep.
fn live_policy(network: &OpenNetwork) -> Arc<LivePolicy> {
    let gateway = Arc::downgrade(&network.gateway);
    let hand_on = move |policy| match gateway.upgrade() {
        Some(gateway) => gateway.change(policy),
        None => Err(io::ErrorKind::BrokenPipe.into()),
    };
    let policy = network.policy.clone();
    Arc::new(LivePolicy::new(policy, Box::new(hand_on)))
}

/// Says which logins were renewed inside.
fn report_refreshed(events: &dyn EventSink, refreshed: &RefreshedCredentials) {
    for name in &refreshed.names {
        events.event(Event::CredentialRefreshed { name });
    }
    if let Some(cause) = &refreshed.failure {
        events.event(Event::CredentialLost { cause });
    }
    if refreshed.is_cut {
        events.event(Event::CredentialChangesCut);
    }
}

/// Closes the network, and says what was decided.
fn close_network(cx: &SessionContext<'_>, record: &Record, gateway: &Gateway) -> NetworkSummary {
    let gateway_lost = gateway.is_lost();
    let (totals, journal) = gateway.finish();
    if let JournalEnd::Failed(cause) = journal {
        cx.events.event(Event::DecisionsLost { cause: &cause });
    }
    let id = &record.id;
    cx.events.event(Event::NetworkClosed { id, totals });
    NetworkSummary {
        mode: record
            .egress
            .map_or(lazaret_egress::Mode::Allowlist, |egress| egress.mode),
        totals: Some(totals),
        gateway_lost,
    }
}
