//! `World`: a workspace, a volume, a state directory and an engine, for one session.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lazaret_egress::BrokerRoute;
use lazaret_gate::allowlist::Allowlist;
use lazaret_gate::choices::Choices;
use lazaret_gate::decision::{ApprovalMode, OnConflict};
use lazaret_gate::ignored::IgnoredFiles;
use lazaret_image_builder::{IMAGE_LABEL, INPUTS_LABEL, Pinned, inspect};
use lazaret_launcher::app::{App, Options};
use lazaret_launcher::decide::case::open_case;
use lazaret_launcher::decide::settle::settle;
use lazaret_launcher::decide::waiting_commits::NoCommits;
use lazaret_launcher::decide::{AskContext, decide};
use lazaret_launcher::environment::{Environment, StreamKind, StreamKinds};
use lazaret_launcher::failure::Failure;
use lazaret_launcher::gate::{Asked, GateOptions, RunEnd, gate};
use lazaret_launcher::profile::ApplyMode;
use lazaret_launcher::profile::FileRule;
use lazaret_launcher::resolve::credentials;
use lazaret_launcher::ui::terminal::{Destination, TerminalIo};
use lazaret_launcher::ui::{
    ColorChoice, OutputFormat, ProgressChoice, SessionEvents, Streams, Ui, UiOptions, Verbosity,
};
use lazaret_protocol::verb::CommandStdin;
use lazaret_protocol::{PORTER_PATH, Protection, bootstrap};
use lazaret_runtime::fake::{ExecCall, ExecOutcome, FakeEngine};
use lazaret_runtime::{Engine as _, ImageInfo, Limits, SessionId};
use lazaret_session::audit::event::Approver;
use lazaret_session::cancel::Cancel;
use lazaret_session::context::{SessionContext, Timings};
use lazaret_session::engine::cleanup::BackgroundRemovals;
use lazaret_session::engine::containers::{ContainerPlan, HomeStorage};
use lazaret_session::engine::inventory::Inventory;
use lazaret_session::lifecycle;
use lazaret_session::lifecycle::collect::Collected;
use lazaret_session::lifecycle::command_io::{CommandIo, UserSide};
use lazaret_session::lifecycle::open::Opened;
use lazaret_session::lifecycle::outcome::RunOutcome;
use lazaret_session::lifecycle::recover::{RecoverOutcome, resume};
use lazaret_session::lifecycle::update::Prefetch;
use lazaret_session::network::Plan;
use lazaret_session::pool::{Filled, PoolStore, fill};
use lazaret_session::settle::{SettleContext, SettleResult, VolumeDisposal};
use lazaret_session::spec::{CommandLimits, CommandSpec, LogLevel, RunSpec, Source, TerminalMode};
use lazaret_session::store::record::{
    GateLimits, GitSelection, KeepVolume, Phase, Record, SelectionRecord, WriteScope,
};
use lazaret_session::store::{LockedSession, Store, StoreError};
use lazaret_tests::tree_text;
use lazaret_transfer::{GitMode, SelectionSpec, WorkspaceDir};
use lazaret_tree::RelPathBuf;

use super::flaky::Flaky;
use super::porter;

/// What lies in the workspace at first.
pub(super) const BEFORE: &str = "
    f src/main.rs \"fn main() {}\\n\"
    f src/old.rs \"gone soon\\n\"
    x tool \"#!/bin/sh\\n\"
    f notes.txt \"one\\ntwo\\n\"
    l latest -> notes.txt
";

/// What the usual command does.
pub(super) const EDITS: &str = "
    f notes.txt \"one\\nthree\\n\"
    f src/new.rs \"pub fn new() {}\\n\"
    - src/old.rs
";

const MIB: u64 = 1 << 20;

/// Everything that a session lives in.
#[derive(Debug)]
pub(super) struct World {
    pub(super) root: tempfile::TempDir,
    pub(super) engine: Flaky,
    pub(super) store: Store,
    pub(super) cancel: Cancel,
    pub(super) patience: CommandLimits,
    pub(super) env: Environment,
    /// What of the workspace's repository goes in.
    pub(super) git: GitMode,
    /// Whether its sessions have a network.
    network: bool,
    /// What the broker of its network serves.
    pub(super) routes: Vec<BrokerRoute>,
    /// Logins that its sessions are lent; `lend` is the verb that a test plays then.
    pub(super) files: Vec<FileRule>,
    /// What their gateway does.
    gateway: Arc<Mutex<Play>>,
    /// What the porter's verbs do, be it as processes of their own or in a command's before
    /// it starts.
    verbs: Arc<Mutex<BTreeMap<String, Play>>>,
    pub(super) ui: Ui,
    events: SessionEvents,
    said: Memory,
    image: Pinned,
    /// How many commands were started.
    commands: Arc<AtomicUsize>,
    /// How far the command reaches.
    pub(super) bounds: WriteScope,
    /// Where the command leaves the text of a pull request.
    pub(super) pr_file: Option<RelPathBuf>,
    /// What the command's container may use.
    pub(super) limits: Limits,
    /// What the gate holds a batch to.
    pub(super) gate: GateLimits,
    /// What is root's in the volume.
    pub(super) fence: Arc<Mutex<Option<Protection>>>,
}

/// What a process does.
type Acts = dyn Fn(&mut ExecCall) -> io::Result<ExecOutcome> + Send + Sync;

/// What stands for a process.
#[derive(Clone)]
struct Play(Arc<Acts>);

impl std::fmt::Debug for Play {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Play").finish_non_exhaustive()
    }
}

impl Play {
    fn of<O: Into<ExecOutcome>>(
        act: impl Fn(&mut ExecCall) -> io::Result<O> + Send + Sync + 'static,
    ) -> Arc<Mutex<Self>> {
        let act = move |call: &mut ExecCall| act(call).map(Into::into);
        Arc::new(Mutex::new(Self(Arc::new(act))))
    }

    fn set(&mut self, act: impl Fn(&mut ExecCall) -> io::Result<i32> + Send + Sync + 'static) {
        self.0 = Arc::new(move |call| act(call).map(Into::into));
    }
}

/// A stream that remembers the first of what was written.
#[derive(Debug, Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = usize::try_from(MIB).unwrap_or(0).saturating_sub(held.len());
        held.extend_from_slice(&bytes[..bytes.len().min(room)]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Does what a command in its bootstrap does first: proves what holds, and hears words up to the last.
/// Returns how the process ended, unless it goes on as the command.
fn bootstrap(
    verbs: &Mutex<BTreeMap<String, Play>>,
    call: &mut ExecCall,
) -> io::Result<Option<ExecOutcome>> {
    let mut word = "probe".to_owned();
    loop {
        let verb = word.split(' ').next().unwrap_or_default();
        let play = verbs.lock().unwrap().get(verb).cloned();
        let Some(Play(act)) = play else {
            return Ok(Some(ExecOutcome::Exit(125)));
        };
        let words = word.split(' ').map(str::to_owned).collect();
        let argv = std::mem::replace(&mut call.argv, words);
        let acted = act(call)?;
        call.argv = argv;
        if acted != ExecOutcome::Exit(0) {
            return Ok(Some(acted));
        }
        word.clear();
        while !word.ends_with('\n') {
            let mut byte = [0];
            if call.stdin.read_exact(&mut byte).is_err() {
                return Ok(Some(ExecOutcome::Exit(125)));
            }
            word.push(byte[0].into());
        }
        match word.as_bytes() {
            bootstrap::GO => return Ok(None),
            bootstrap::CANCEL => return Ok(Some(ExecOutcome::Exit(0))),
            _ => {}
        }
        word.pop();
    }
}

impl World {
    /// Makes a healthy world whose command edits the volume and ends with 0.
    pub(super) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for dir in ["workspace", "volume", "state"] {
            std::fs::create_dir(root.path().join(dir)).unwrap();
        }
        tree_text::build(BEFORE, &root.path().join("workspace"));
        let fake = FakeEngine::new();
        let image = image();
        fake.add_image(image.clone());
        let (ui, said, env) = surroundings(root.path(), "");
        let world = Self {
            store: Store::open(&root.path().join("state")).unwrap(),
            engine: Flaky::new(fake),
            cancel: Cancel::new(),
            patience: CommandLimits {
                timeout: Some(Duration::from_secs(60)),
                grace: Duration::from_millis(20),
            },
            env,
            git: GitMode::None,
            network: false,
            routes: Vec::new(),
            files: Vec::new(),
            gateway: Play::of(play_gateway),
            verbs: Arc::default(),
            events: SessionEvents::new(ui.clone()),
            ui,
            said,
            image: inspect(&image).unwrap(),
            commands: Arc::default(),
            bounds: WriteScope::default(),
            pr_file: None,
            limits: limits(),
            gate: GateLimits {
                max_entries: 1000,
                max_bytes: MIB,
                max_file_bytes: MIB,
            },
            fence: Arc::default(),
            root,
        };
        world.on("receive", |volume, call| {
            let receipt = porter::receive(volume, &mut call.stdin)
                .map_err(|error| io::Error::other(error.to_string()))?;
            receipt.write_to(&mut call.stdout)?;
            Ok(0)
        });
        world.on("probe", |_, call| {
            call.stdout.write_all(porter::healthy_report().as_bytes())?;
            Ok(0)
        });
        world.on("survey", answer_survey);
        let verbs = Arc::clone(&world.verbs);
        world.on("export", move |_, call| {
            for half in ["survey", "send"] {
                let Play(act) = verbs.lock().unwrap()[half].clone();
                match act(call)? {
                    ExecOutcome::Exit(0) => {}
                    ended => return Ok(ended),
                }
            }
            Ok(ExecOutcome::Exit(0))
        });
        let fence = Arc::clone(&world.fence);
        world.on("protect", move |_, call| {
            let list = Protection::read_from(&mut call.stdin).map_err(io::Error::other)?;
            *fence.lock().unwrap() = Some(list);
            Ok(0)
        });
        let fence = Arc::clone(&world.fence);
        world.on("release", move |_, _| {
            *fence.lock().unwrap() = None;
            Ok(0)
        });
        let fence = Arc::clone(&world.fence);
        world.on("sealed", move |_, call| {
            let list = Protection::read_from(&mut call.stdin).map_err(io::Error::other)?;
            let broken = usize::from(*fence.lock().unwrap() != Some(list.clone()));
            if broken > 0 {
                writeln!(call.stdout, "broken write AGENTS.md")?;
            }
            writeln!(call.stdout, "end {} {broken}", list.entries.len())?;
            Ok(0)
        });
        let fence = Arc::clone(&world.fence);
        world.on("update", move |volume, call| {
            if fence.lock().unwrap().is_some() {
                return Err(io::Error::other("what is root's is in the way"));
            }
            porter::update(volume, &mut call.stdin, &mut call.stdout)
                .map_err(|error| io::Error::other(error.to_string()))?;
            Ok(0)
        });
        world.on("send", |volume, call| {
            porter::send(volume, &mut call.stdin, &mut call.stdout, |_| {})
                .map_err(|error| io::Error::other(error.to_string()))?;
            Ok(0)
        });
        world.command(|volume, _| {
            tree_text::build(EDITS, volume);
            0
        });
        world
    }

    /// Makes a world whose user types these answers.
    pub(super) fn answering(answers: &'static str) -> Self {
        let world = Self::new();
        let (ui, said, env) = surroundings(world.root.path(), answers);
        Self {
            events: SessionEvents::new(ui.clone()),
            ui,
            said,
            env,
            ..world
        }
    }

    /// Makes a world whose sessions have a network.
    pub(super) fn with_network() -> Self {
        Self {
            network: true,
            ..Self::new()
        }
    }

    /// Makes `porter gateway` a closure.
    pub(super) fn gateway(
        &self,
        gateway: impl Fn(&mut ExecCall) -> io::Result<i32> + Send + Sync + 'static,
    ) {
        self.gateway.lock().unwrap().set(gateway);
    }

    /// Makes the porter's verb a closure over the volume's directory. An error is what a
    /// porter that fails would say.
    ///
    /// `survey` and `send` are the two halves of what an exporter's porter does.
    pub(super) fn on<O: Into<ExecOutcome>>(
        &self,
        verb: &str,
        handler: impl Fn(&Path, &mut ExecCall) -> io::Result<O> + Send + Sync + 'static,
    ) {
        let volume = self.path("volume");
        let fake = &self.engine.fake;
        let act: Arc<Acts> = Arc::new(move |call| handler(&volume, call).map(Into::into));
        let play = Play(Arc::clone(&act));
        self.verbs.lock().unwrap().insert(verb.to_owned(), play);
        fake.on_exec(&[PORTER_PATH, verb], move |mut call| match act(&mut call) {
            Ok(outcome) => outcome,
            Err(error) => {
                drop(writeln!(call.stderr, "porter: {error}"));
                ExecOutcome::Exit(125)
            }
        });
    }

    /// Makes the command a closure over the volume's directory.
    pub(super) fn command<O: Into<ExecOutcome>>(
        &self,
        command: impl Fn(&Path, &mut ExecCall) -> O + Send + Sync + 'static,
    ) {
        let commands = Arc::clone(&self.commands);
        let gateway = Arc::clone(&self.gateway);
        let verbs = Arc::clone(&self.verbs);
        self.on("run", move |volume, call| {
            // The network's porters are started as the command is, with its limits.
            let argv = call.argv.iter().skip_while(|word| *word != "--").skip(1);
            let argv: Vec<&str> = argv.map(String::as_str).collect();
            match argv.as_slice() {
                [PORTER_PATH, "gateway", ..] => {
                    let Play(play) = gateway.lock().unwrap().clone();
                    return play(call);
                }
                [PORTER_PATH, "lend", ..] => {
                    let Play(play) = verbs.lock().unwrap()["lend"].clone();
                    return play(call);
                }
                [PORTER_PATH, "relay", ..] => {
                    call.stdout.write_all(b"ready\n")?;
                    io::copy(&mut call.stdin, &mut io::sink())?;
                    return Ok(ExecOutcome::Exit(0));
                }
                _ => {}
            }
            if call.argv.iter().any(|word| word == "--poised")
                && let Some(ended) = bootstrap(&verbs, call)?
            {
                return Ok(ended);
            }
            commands.fetch_add(1, Ordering::SeqCst);
            Ok(command(volume, call).into())
        });
    }

    /// How many commands were started so far.
    pub(super) fn commands(&self) -> usize {
        self.commands.load(Ordering::SeqCst)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// The workspace in the tree language.
    pub(super) fn workspace(&self) -> String {
        tree_text::dump(&self.path("workspace"))
    }

    /// Everything said on stderr and stdout.
    pub(super) fn said(&self) -> String {
        self.hearing()()
    }

    /// Returns what tells [`World::said`], also while a command runs.
    pub(super) fn hearing(&self) -> impl Fn() -> String + Send + Sync + 'static {
        let said = self.said.clone();
        move || {
            let said = said.0.lock().unwrap_or_else(PoisonError::into_inner);
            String::from_utf8_lossy(&said).into_owned()
        }
    }

    /// The image of everything here.
    pub(super) fn image(&self) -> &Pinned {
        &self.image
    }

    pub(super) fn id(&self) -> SessionId {
        "shop".parse().unwrap()
    }

    /// The record on disk; `None` when there is no session.
    pub(super) fn record(&self) -> Option<Record> {
        let dir = self.store.find(&self.id()).ok()?;
        Some(dir.record().unwrap())
    }

    /// The phase on disk.
    pub(super) fn phase(&self) -> Option<Phase> {
        Some(self.record()?.phase)
    }

    /// The names of all that the store has in the engine, faults or not.
    pub(super) fn left(&self) -> Vec<String> {
        let all = Inventory::of_store(&self.engine.fake, self.store.id()).unwrap();
        let containers = all.containers.iter().map(|(name, _)| name.to_string());
        let volumes = all.volumes.iter().map(|(name, _)| name.to_string());
        containers.chain(volumes).collect()
    }

    pub(super) fn cx(&self) -> SessionContext<'_> {
        SessionContext {
            engine: Arc::new(self.engine.clone()),
            info: self.engine.fake.probe().unwrap(),
            cache_hit: None,
            store_id: self.store.id().to_owned(),
            events: &self.events,
            cancel: &self.cancel,
            timings: Timings::default(),
            removals: BackgroundRemovals::default(),
            use_init_channel: true,
            reconnect_grace: Duration::from_secs(60),
        }
    }

    /// Runs up to the gate.
    pub(super) fn cycle(&self) -> Result<Collected, Failure> {
        Ok(self.cycle_of(None, KeepVolume::UntilSettled)?.collected)
    }

    /// Runs up to the gate, on a volume that is kept: one of its own, or the one that the
    /// session has.
    pub(super) fn cycle_kept(&self) -> Result<RunOutcome, Failure> {
        self.cycle_of(self.lock().ok(), KeepVolume::Always)
    }

    fn cycle_of(
        &self,
        session: Option<LockedSession>,
        keep: KeepVolume,
    ) -> Result<RunOutcome, Failure> {
        let io = TerminalIo {
            ui: &self.ui,
            stdout: Destination::Other,
            stderr: Destination::Other,
        };
        self.cycle_with(session, keep, &io)
    }

    /// Runs up to the gate, with other streams than those of the test.
    pub(super) fn cycle_with(
        &self,
        session: Option<LockedSession>,
        keep: KeepVolume,
        io: &dyn CommandIo,
    ) -> Result<RunOutcome, Failure> {
        let workspace = WorkspaceDir::open_ambient(&self.path("workspace")).unwrap();
        let selection = SelectionSpec {
            git: self.git,
            exclude: Vec::new(),
        };
        let spec = RunSpec {
            id: self.id(),
            profile: "base".to_owned(),
            workspace: &workspace,
            source: Source {
                dir: &workspace,
                selector: &selection.compile().unwrap(),
                history: None,
            },
            selection: SelectionRecord {
                git: GitSelection::None,
                exclude: Vec::new(),
                shared: None,
                from: None,
            },
            scope: self.bounds.clone(),
            pr_file: self.pr_file.clone(),
            command: CommandSpec {
                argv: vec!["work".to_owned()],
                env: [("WORD".parse().unwrap(), "given".to_owned())].into(),
                terminal: TerminalMode::None,
                stdin: CommandStdin::Empty,
                limits: self.patience,
            },
            image: self.image.clone(),
            porter: self.image.clone(),
            limits: self.limits.clone(),
            network: self.network.then(|| {
                let mut plan = plan();
                plan.order.routes.clone_from(&self.routes);
                plan
            }),
            services: Vec::new(),
            setup: Vec::new(),
            home: None,
            volumes: Vec::new(),
            credentials: credentials::resolve(&self.files, &self.env)?.into(),
            gate: self.gate,
            ignored: IgnoredFiles::Stay,
            keep,
            log: LogLevel::Info,
        };
        let user = UserSide {
            io,
            ports: Vec::new(),
        };
        let (cx, dir) = (self.cx(), session.as_ref().map(|s| s.dir().clone()));
        thread::scope(|scope| {
            let opened = match session.zip(dir.as_ref()) {
                Some((session, dir)) => {
                    let prefetch = Prefetch::begin(scope, dir, spec.source);
                    Opened::kept(&cx, session, prefetch)?
                }
                None => Opened::New,
            };
            Ok(lifecycle::run(&cx, &self.store, opened, &spec, user)?)
        })
    }

    /// What places of the pool are made from that fit its sessions.
    pub(super) fn filling(&self) -> ContainerPlan {
        ContainerPlan {
            services: Vec::new(),
            home: HomeStorage::Memory,
            mounts: Vec::new(),
            profile: "base".to_owned(),
            image: self.image.clone(),
            porter: self.image.clone(),
            limits: self.limits.clone(),
            policy: self.network.then(|| plan().order.policy),
        }
    }

    /// Does what `lazaret pool fill` does.
    pub(super) fn fill(&self, filling: &ContainerPlan, count: u32) -> Result<Filled, Failure> {
        Ok(fill(
            &self.cx(),
            &PoolStore::of(&self.store),
            filling,
            count,
        )?)
    }

    /// Runs the whole of it, applying what is clean.
    pub(super) fn run(&self) -> Result<RunEnd, Failure> {
        let collected = self.cycle()?;
        self.gate(collected)
    }

    /// Locks the session. A process that another test starts meanwhile holds a copy of the
    /// lock for the moment between its fork and its exec.
    pub(super) fn lock(&self) -> Result<LockedSession, StoreError> {
        self.lock_by(Store::lock)
    }

    fn lock_by(
        &self,
        lock: fn(&Store, &SessionId) -> Result<LockedSession, StoreError>,
    ) -> Result<LockedSession, StoreError> {
        let give_up = Instant::now() + Duration::from_secs(10);
        loop {
            match lock(&self.store, &self.id()) {
                Err(StoreError::Busy { .. }) if Instant::now() < give_up => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                other => return other,
            }
        }
    }

    /// Does what `lazaret apply` does: the user agrees.
    pub(super) fn apply(&self) -> SettleResult {
        let mut session = self.lock().unwrap();
        let case = open_case(&session, IgnoredFiles::Stay, &self.env).unwrap();
        let approval = ApprovalMode::Preapproved(OnConflict::Refuse);
        let choices = Choices::all();
        let context = AskContext {
            ui: &self.ui,
            cancel: &self.cancel,
            commits: &mut NoCommits,
        };
        let decision = decide(&case, &choices, approval, context).unwrap();
        let cx = self.cx();
        let context = self.settling(VolumeDisposal::Remove(&cx));
        settle(&mut session, &case, &decision, context, &self.ui).unwrap()
    }

    /// What settling takes here.
    pub(super) fn settling<'a>(&'a self, volume: VolumeDisposal<'a>) -> SettleContext<'a> {
        SettleContext {
            store: &self.store,
            volume,
            approver: Approver::Person,
            events: &self.events,
            cancel: &self.cancel,
        }
    }

    /// The gate, applying what is clean.
    pub(super) fn gate(&self, collected: Collected) -> Result<RunEnd, Failure> {
        self.gate_by(collected, ApplyMode::Auto)
    }

    /// The gate, with what becomes of changes that it would apply.
    pub(super) fn gate_by(
        &self,
        collected: Collected,
        apply: ApplyMode,
    ) -> Result<RunEnd, Failure> {
        let allowlist = Allowlist::nothing();
        let options = GateOptions {
            released: None,
            sync: None,
            asked: Asked::Here,
            apply,
            allowlist: &allowlist,
            app: &self.app(),
        };
        gate(&self.cx(), &self.store, collected, options)
    }

    /// What a verb would get.
    pub(super) fn app(&self) -> App {
        App {
            arguments: Vec::new(),
            env: self.env.clone(),
            ui: self.ui.clone(),
            events: SessionEvents::new(self.ui.clone()),
            cancel: self.cancel.clone(),
            options: Options {
                ui: UI,
                engine: None,
                use_init_channel: true,
            },
            keeper_stderr: None,
        }
    }

    /// Does what `lazaret recover` does.
    pub(super) fn resume(&self) -> Result<RecoverOutcome, Failure> {
        let session = self.lock_by(Store::lock_to_recover)?;
        Ok(resume(&self.cx(), self.image.clone(), session)?)
    }
}

fn limits() -> Limits {
    Limits {
        memory: 512 * MIB,
        cpus: 1.0,
        pids: 64,
        tmp: MIB,
        shm: MIB,
        home: MIB,
        nofile: 1024,
        fsize: MIB,
    }
}

/// What a session with a network is given.
fn plan() -> Plan {
    Plan {
        order: lazaret_egress::GatewayConfig {
            policy: lazaret_egress::Policy {
                rules: vec!["a.example:443".parse().unwrap()],
                ..lazaret_egress::Policy::nothing()
            },
            routes: Vec::new(),
            trust: Vec::new(),
            inside: String::new(),
            caps: lazaret_egress::SessionLimits::default(),
        },
        patterns: None,
    }
}

/// Does what `porter gateway` does, with one connection that is allowed.
fn play_gateway(call: &mut ExecCall) -> io::Result<i32> {
    let mut input = begin_gateway(call)?;
    // Its end is that of its input.
    io::copy(&mut input, &mut io::sink())?;
    Ok(0)
}

/// Does what `porter gateway` does up to there, and returns the rest of its input.
pub(super) fn begin_gateway(call: &mut ExecCall) -> io::Result<impl io::Read> {
    let mut input = BufReader::new(&mut call.stdin);
    let mut order = String::new();
    input.read_line(&mut order)?;
    serde_json::from_str::<lazaret_egress::GatewayConfig>(&order)?;
    let ready = r#"{"event":"ready","at":1,"sockets":[]}"#;
    let decision = r#"{"event":"decision","at":2,"id":1,"via":"connect","host":"a.example","port":443,"verdict":"allowed","rule":"a.example:443"}"#;
    writeln!(call.stdout, "{ready}\n{decision}")?;
    Ok(input)
}

/// Does what a survey does.
pub(super) fn answer_survey(volume: &Path, call: &mut ExecCall) -> io::Result<i32> {
    let survey = porter::survey(volume, &mut call.stdin)
        .map_err(|error| io::Error::other(error.to_string()))?;
    survey.write_to(&mut call.stdout)?;
    Ok(0)
}

fn image() -> ImageInfo {
    let label = |key: &str| (key.to_owned(), "test".to_owned());
    ImageInfo {
        id: format!("sha256:{}", "5a".repeat(32)),
        tags: vec!["lazaret-test:1".to_owned()],
        size: 1,
        labels: [label(IMAGE_LABEL), label(INPUTS_LABEL)].into(),
        volumes: Vec::new(),
        entrypoint: vec![PORTER_PATH.to_owned()],
        architecture: "amd64".to_owned(),
    }
}

/// A terminal with typed answers, or none if there are no answers, and a home without any
/// configuration.
const UI: UiOptions = UiOptions {
    format: OutputFormat::Text,
    color: ColorChoice::Never,
    progress: ProgressChoice::None,
    verbosity: Verbosity::Normal,
    questions: lazaret_launcher::ui::Questions::Asked,
};

fn surroundings(root: &Path, answers: &'static str) -> (Ui, Memory, Environment) {
    let said = Memory::default();
    let streams = Streams {
        stdin: Box::new(answers.as_bytes()),
        stdout: Box::new(said.clone()),
        stderr: Box::new(said.clone()),
        discard_typeahead: || {},
        keys: || None,
    };
    let kind = match answers {
        "" => StreamKind::Other,
        _ => StreamKind::Terminal,
    };
    let kinds = StreamKinds {
        stdin: kind,
        stdout: StreamKind::Other,
        stderr: kind,
    };
    let variables = [
        ("HOME".into(), root.join("home").into()),
        ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
    ];
    let env = Environment::new(variables, kinds, None, 1000, "/".into());
    (Ui::new(streams, UI, &env), said, env)
}

/// What a tree in the language looks like once it is built and edited.
pub(super) fn tree(steps: &[&str]) -> String {
    let dir = tree_text::temp("");
    for step in steps {
        tree_text::build(step, dir.path());
    }
    tree_text::dump(dir.path())
}
