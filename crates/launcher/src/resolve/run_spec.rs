//! `RunRequest`: one run as the command line and the profile ask for it, and what it takes.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use lazaret_gate::allowlist::Allowlist;
use lazaret_protocol::verb::CommandStdin;
use lazaret_runtime::{EnvName, Limits, SessionId, Unenforceable};
use lazaret_session::credentials::file::CredentialFile;
use lazaret_transfer::{FileSelector, WorkspaceDir};

use crate::app::App;
use crate::decide::allowlist;
use crate::environment::{Environment, StreamKind};
use crate::failure::Failure;
use crate::gate::{Asked, GateOptions, Released, RunEnd, gate};
use crate::image;
use crate::profile::{ApplyMode, GitChoice, Profile, Publish};
use crate::report::SyncReport;
use crate::resolve::copy_source::{CopyRequest, CopySource};
use crate::resolve::credentials;
use crate::resolve::extra::{self, ExtraRule};
use crate::resolve::git::{self, History};
use crate::resolve::home;
use crate::resolve::network::{self, Network};
use crate::resolve::volumes::Fill;
use crate::resolve::{services, volumes};
use crate::session_access::{reopen, session_context};
use crate::ui::terminal::{self, Destination, TerminalIo};
use lazaret_session::context::SessionContext;
use lazaret_session::engine::info_cache::{CacheHit, EngineInfoCache};
use lazaret_session::home::HomeSpec;
use lazaret_session::keeper::Keeper;
use lazaret_session::lifecycle;
use lazaret_session::lifecycle::command_io::{CommandIo, UserSide};
use lazaret_session::lifecycle::file_limit::FileLimit;
use lazaret_session::lifecycle::open::Opened;
use lazaret_session::lifecycle::outcome::RunOutcome;
use lazaret_session::lifecycle::update::Prefetch;
use lazaret_session::network::{PortBinding, PortSpec, bind};
use lazaret_session::settle::workspace_lock::lock_whole_workspace;
use lazaret_session::spec::{CommandLimits, CommandSpec, LogLevel, RunSpec, Source, TerminalMode};
use lazaret_session::store::from_branch::FromBranch;
use lazaret_session::store::record::{
    GateLimits, GitSelection, KeepVolume, SelectionRecord, WriteScope,
};
use lazaret_session::store::{LockedSession, Store};

/// From SIGTERM to SIGKILL when a command's time is up.
const GRACE: Duration = Duration::from_secs(15);

/// One run.
#[derive(Debug)]
pub struct RunRequest {
    /// The session's name; `None` to make one.
    pub id: Option<SessionId>,
    /// The profile, tightened and final.
    pub profile: Profile,
    /// The command, program first.
    pub command: Vec<String>,
    /// What to do with the changes.
    pub apply: ApplyMode,
    /// Who asks, where that is to be done.
    pub asked: Asked,
    /// Until SIGTERM; `None` for ever.
    pub timeout: Option<Duration>,
    /// Environment of the command.
    pub env: BTreeMap<EnvName, String>,
    /// Ports of the host's loopback that lead inside.
    pub ports: Vec<Publish>,
    /// What becomes of the volume.
    pub volume: KeepVolume,
    /// How far the command reaches.
    pub bounds: WriteScope,
    /// What of the project goes in beside the folder; `None` where everything does.
    pub shared: Option<Vec<String>>,
    /// The branch, tag or commit that is cloned; `None` to copy the workspace's files, or to stay
    /// on what the session is a clone of.
    pub from: Option<String>,
    /// Whether the command has the user's terminal.
    pub terminal: TerminalMode,
    /// What it reads, if it has none.
    pub stdin: CommandStdin,
    /// Directories of the host that it may read beside the workspace.
    pub extra: Vec<ExtraRule>,
    /// What it writes to beside the workspace, if it fills a shared volume.
    pub fills: Option<Fill>,
    /// What is kept of it beside what it prints.
    pub log: LogLevel,
}

/// What a run is about, found out before an engine is asked for anything.
#[derive(Debug)]
struct Project<'a> {
    store: Store,
    workspace: &'a WorkspaceDir,
    id: SessionId,
    /// The session, where it was there before.
    again: Option<LockedSession>,
    /// What goes in.
    source: Source<'a>,
    /// What that is a clone of.
    from: Option<FromBranch>,
    lent: Arc<[CredentialFile]>,
    /// The home, if it is kept.
    home: Option<HomeSpec>,
    network: Option<Network>,
    ports: Vec<PortBinding>,
    connected: Connected<'a>,
}

/// What the streams of a command are connected with.
#[derive(Debug, Clone, Copy)]
pub enum Connected<'a> {
    /// The streams of this process.
    User,
    /// The clients of a keeper, which are told how the run ended as soon as that is clear.
    Clients {
        /// Whose they are.
        keeper: &'a Keeper,
        /// Tells them.
        released: Released<'a>,
    },
}

/// A look at the sizes of what goes in, under way.
type SizeCheck<'scope> = ScopedJoinHandle<'scope, Result<(), Failure>>;

impl RunRequest {
    /// Runs it: image, session, gate.
    ///
    /// # Errors
    /// Whatever keeps the command from starting, or its changes from being collected or
    /// applied. The message says what was kept.
    pub fn run(
        self,
        workspace: &WorkspaceDir,
        selector: &FileSelector,
        connected: Connected<'_>,
        app: &App,
    ) -> Result<RunEnd, Failure> {
        let store = Store::open(&app.env.state_dir()?)?;
        // What goes in is a whole tree, not one that is half changed.
        drop(lock_whole_workspace(
            &store,
            workspace,
            &app.events,
            &app.cancel,
        )?);
        // A mistake in it is said before anything is started.
        let allowlist = allowlist::load(&app.env)?;
        let lent = credentials::resolve(&self.profile.files, &app.env)?;
        let home = home::resolve(&self.profile.home, &app.env)?;
        let network = network::prepare(&self.profile, &app.env, &app.cancel, &lent)?;
        let ports: Vec<PortSpec> = self.ports.iter().copied().map(PortSpec::from).collect();
        let ports = bind(&ports)?;
        let again = match &self.id {
            Some(id) => reopen::take(&store, id, workspace)?,
            None => None,
        };
        if let Some(session) = &again {
            reopen::same_folder(session.record(), &self.bounds, self.shared.as_deref())?;
        }
        let id = match &self.id {
            Some(id) => id.clone(),
            None => store.fresh_id(workspace.path())?,
        };
        let copy = CopyRequest {
            from: self.from.as_deref(),
            session: &id,
            record: again.as_ref().map(|session| session.record()),
            history: History::of(selector.git()),
        };
        let copy = CopySource::choose(workspace, copy, app)?;
        let made = git::make(copy.dir(), selector, &app.env, &app.cancel)?;
        let history = copy.history(&app.env);
        let source = Source {
            dir: copy.dir(),
            selector: &made.selector,
            history: history.as_ref(),
        };
        let project = Project {
            store,
            workspace,
            id,
            again,
            source,
            from: copy.from_branch().cloned(),
            lent: lent.into(),
            home,
            network,
            ports,
            connected,
        };
        let dir = project.again.as_ref().map(|session| session.dir().clone());
        let limit = FileLimit::of(gate_limits(&self.profile));
        thread::scope(|scope| {
            // Beside everything that the engine is asked.
            let reading = dir.as_ref().map(|dir| Prefetch::begin(scope, dir, source));
            // Of a session with a volume only what is sent counts, and the reading tells that.
            let size_check = match dir {
                Some(_) => None,
                None => Some(scope.spawn(move || limit.check(source).map_err(Failure::from))),
            };
            self.run_in(project, reading, size_check, &allowlist, app)
        })
    }

    /// Goes on once it is clear what goes in.
    fn run_in(
        self,
        project: Project<'_>,
        reading: Option<Prefetch<'_>>,
        size_check: Option<SizeCheck<'_>>,
        allowlist: &Allowlist,
        app: &App,
    ) -> Result<RunEnd, Failure> {
        let Project {
            store,
            workspace,
            id,
            again,
            source,
            from,
            lent,
            home,
            network,
            ports,
            connected,
        } = project;
        let cache = EngineInfoCache::at(app.env.cache_dir()?.join("engines"));
        let record = again.as_ref().map(|session| session.record());
        let detected = app.engine_for(record, &cache);
        if let Some(size_check) = size_check {
            size_check
                .join()
                .unwrap_or_else(|panic| resume_unwind(panic))?;
        }
        let detected = detected?;
        let remembered_as = detected.remembered.clone();
        app.cancel.check()?;
        let agent = image::ensure(app, &detected, &self.profile.image)?;
        let exporter = image::ensure(app, &detected, "porter")?;
        let services = services::resolve(&self.profile.services, app, &detected)?;
        let mut volumes = match &self.fills {
            Some(fill) => vec![fill.volume()],
            None => volumes::resolve(&self.profile.volumes, &store, &detected.info.endpoint)?,
        };
        volumes.extend(extra::resolve(&self.extra, &app.env)?);
        let cache_hit = remembered_as.map(|server_version| CacheHit {
            cache: &cache,
            server_version,
        });
        let cx = SessionContext {
            cache_hit,
            ..session_context(app, &store, detected)
        };
        if network.is_some() && !cx.info.capabilities.has_gateway {
            let engine = cx.info.endpoint.clone();
            return Err(Unenforceable::Gateway { engine }.into());
        }
        let (plan, reach) = match network {
            Some(Network { plan, env }) => (Some(plan), env),
            None => (None, BTreeMap::new()),
        };
        let mut env = git::variables(&app.env, workspace, source.selector, &self.bounds, &cx.info);
        env.extend(reach);
        if self.terminal == TerminalMode::Interactive {
            env.extend(terminal_variables(&app.env));
        }
        env.extend(volumes::variables(
            self.fills.as_ref(),
            &self.profile.volumes,
        ));
        // What the user says goes first.
        env.extend(self.env);
        let (in_use, warnings) = credentials::claim(&lent, &id)?;
        for warning in warnings {
            app.ui.warn(&warning);
        }
        let stream = |kind| match kind {
            StreamKind::Terminal => Destination::Terminal,
            StreamKind::Other => Destination::Other,
        };
        let opened = match again.zip(reading) {
            Some((session, reading)) => Opened::kept(&cx, session, reading)?,
            None => Opened::New,
        };
        let io = TerminalIo {
            ui: &app.ui,
            stdout: match self.terminal {
                TerminalMode::Interactive => Destination::Screen,
                TerminalMode::None => stream(app.env.streams.stdout),
            },
            stderr: stream(app.env.streams.stderr),
        };
        let spec = RunSpec {
            id,
            selection: picked(&self.profile, self.shared, from),
            profile: self.profile.name.clone(),
            workspace,
            source,
            scope: self.bounds,
            pr_file: self.profile.pr.file.clone(),
            command: CommandSpec {
                argv: self.command,
                env,
                terminal: self.terminal,
                stdin: self.stdin,
                limits: CommandLimits {
                    timeout: self.timeout,
                    grace: GRACE,
                },
            },
            image: agent.pinned,
            porter: exporter.pinned,
            limits: limits(&self.profile),
            network: plan,
            services,
            setup: match self.fills {
                // A shared volume is filled by its command alone.
                Some(_) => Vec::new(),
                None => services::setup(&self.profile.setup),
            },
            home,
            volumes,
            credentials: lent,
            gate: gate_limits(&self.profile),
            ignored: self.profile.gate.ignored,
            keep: self.volume,
            log: self.log,
        };
        let io: &dyn CommandIo = match connected {
            Connected::User => &io,
            Connected::Clients { keeper, .. } => keeper,
        };
        let user = UserSide { io, ports };
        let RunOutcome { collected, update } = lifecycle::run(&cx, &store, opened, &spec, user)?;
        // Who thinks about the changes uses no login any more.
        drop(in_use);
        let options = GateOptions {
            apply: self.apply,
            asked: self.asked,
            released: match (connected, self.asked) {
                (Connected::Clients { released, .. }, Asked::Elsewhere) => Some(released),
                _ => None,
            },
            sync: update.as_ref().map(SyncReport::from),
            allowlist,
            app,
        };
        gate(&cx, &store, collected, options)
    }
}

/// By which programs inside know what the terminal can do.
pub fn terminal_variables(env: &Environment) -> BTreeMap<EnvName, String> {
    let term = terminal::term(env.text("TERM").unwrap_or_default());
    let colours = env.text("COLORTERM").filter(|word| *word == "truecolor");
    [("TERM", Some(term)), ("COLORTERM", colours)]
        .into_iter()
        .filter_map(|(name, value)| Some((name.parse().ok()?, value?.to_owned())))
        .collect()
}

fn picked(
    profile: &Profile,
    shared: Option<Vec<String>>,
    from: Option<FromBranch>,
) -> SelectionRecord {
    SelectionRecord {
        git: match profile.workspace.git {
            GitChoice::None => GitSelection::None,
            GitChoice::Shallow => GitSelection::Shallow,
            GitChoice::Full => GitSelection::Full,
        },
        exclude: profile.workspace.exclude.clone(),
        shared,
        from,
    }
}

/// Returns what the gate of a profile holds a collection to.
pub fn gate_limits(profile: &Profile) -> GateLimits {
    let gate = &profile.gate;
    GateLimits {
        max_entries: u64::from(gate.max_entries),
        max_bytes: gate.max_bytes,
        max_file_bytes: gate.max_file_bytes,
    }
}

/// Returns the limits that a profile sets.
pub fn limits(profile: &Profile) -> Limits {
    let rules = &profile.limits;
    Limits {
        memory: rules.memory,
        cpus: rules.cpus,
        pids: rules.pids,
        tmp: rules.tmp,
        shm: 64 << 20,
        home: profile.home.size.unwrap_or(rules.tmp),
        nofile: 65_536,
        fsize: FileLimit::of(gate_limits(profile)).bytes(),
    }
}

impl From<Publish> for PortSpec {
    fn from(publish: Publish) -> Self {
        Self {
            host: publish.host,
            inside: publish.inside,
        }
    }
}
