//! `SessionContext`: what every step of a session works with.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lazaret_egress::Policy;
use lazaret_image_builder::Pinned;
use lazaret_runtime::{
    Access, ContainerName, ContainerSpec, Engine, EngineError, EngineInfo, ExecSpec, HardenedSpec,
    Limits, Network, Privilege, Process, Role, SessionId, Unenforceable, VolumeMount, VolumeName,
};

use crate::cancel::{Guard, Interrupt};
use crate::engine::cleanup::BackgroundRemovals;
use crate::engine::owner::ResourceOwner;
use crate::engine::signal::SIGKILL;
use crate::event::{Counter, Event, EventSink};
use crate::network::{SOCKETS, aliases};
use crate::store::record::Record;

/// Where the copy of the workspace lies inside, in every container of a session.
pub const WORKSPACE: &str = "/workspace";

/// What every step works with.
#[derive(Debug)]
pub struct SessionContext<'a> {
    /// The engine.
    pub engine: Arc<dyn Engine>,
    /// What its probe said.
    pub info: EngineInfo,
    /// The id of the state directory, for labels.
    pub store_id: String,
    /// Told what happens.
    pub events: &'a dyn EventSink,
    /// Ctrl-C and its like.
    pub interrupt: &'a Interrupt,
    /// How long each step took.
    pub timings: Timings,
    /// What is being removed meanwhile.
    pub chores: BackgroundRemovals,
    /// Whether the first process of ours in a container is started through
    /// [`Engine::init_channel`], where there is one.
    pub use_init_channel: bool,
}

/// How long each step took, for the `phases` of `run --json`.
#[derive(Debug, Default)]
pub struct Timings(Mutex<BTreeMap<String, u64>>);

impl Timings {
    /// Notes a step's duration under `<name>_ms`; a step that runs twice is added up.
    pub fn note(&self, name: &str, took: Duration) {
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = table
            .entry(format!("{}_ms", name.replace(' ', "_")))
            .or_default();
        *entry = entry.saturating_add(millis);
    }

    /// Returns the table, by name.
    pub fn table(&self) -> BTreeMap<String, u64> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl SessionContext<'_> {
    /// Ends a container as soon as the user wants an end, so that whatever waits for it
    /// returns (FLT-08). It is removed in any case.
    pub(crate) fn doom(&self, container: &ContainerName) -> Guard {
        let (engine, name) = (Arc::clone(&self.engine), container.clone());
        self.interrupt.guard(move |_| {
            // It may have ended by itself.
            drop(engine.signal_container(&name, SIGKILL));
        })
    }

    /// Starts the first process of ours in a container.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn exec_first(
        &self,
        container: &ContainerName,
        spec: &ExecSpec,
    ) -> Result<Process, EngineError> {
        let channel = match self.use_init_channel {
            true => self.engine.init_channel(container),
            false => None,
        };
        // What can't be started so is started by the engine.
        if let Some(process) = channel.and_then(|channel| channel.start(spec).ok()) {
            self.events.event(Event::StreamsDirect(container));
            return Ok(process);
        }
        self.engine.exec(container, spec)
    }

    /// Runs one step, shown while it lasts and timed.
    ///
    /// # Errors
    /// The step's own.
    pub fn step<T, E>(
        &self,
        name: &'static str,
        work: impl FnOnce(&Counter) -> Result<T, E>,
    ) -> Result<T, E> {
        let started = Instant::now();
        let counter = Counter::default();
        (self.events).event(Event::PhaseStarted(name, counter.clone()));
        let done = work(&counter);
        match done {
            Ok(_) => {
                self.timings.note(name, started.elapsed());
                self.events.event(Event::PhaseEnded(name));
            }
            Err(_) => self.events.event(Event::PhaseFailed(name)),
        }
        done
    }

    /// Hardens the container that the command runs in.
    ///
    /// # Errors
    /// Names the control that the engine can't enforce.
    pub fn agent_spec(
        &self,
        owner: &ResourceOwner,
        image: &Pinned,
        limits: Limits,
        policy: Option<&Policy>,
    ) -> Result<HardenedSpec, Unenforceable> {
        let mut volumes = vec![mount(owner.volume(), Access::ReadWrite)];
        // Connecting to a socket needs no right to write to its directory; replacing it would.
        volumes.extend(policy.map(|_| sockets(owner, Access::ReadOnly)));
        let spec = ContainerSpec {
            name: owner.agent(),
            role: Role::Agent,
            image: image.reference().clone(),
            privilege: Privilege::Agent,
            volumes,
            network: Network::None,
            hosts: policy.map(aliases).unwrap_or_default(),
            // The command gets its variables when it starts: the engine shows this to anyone.
            env: BTreeMap::new(),
            workdir: WORKSPACE.to_owned(),
            limits,
            labels: owner.labels("agent"),
        };
        HardenedSpec::new(spec, &self.info)
    }

    /// Hardens the container of the gateway.
    ///
    /// # Errors
    /// Names what the engine can't enforce, or that it can have no gateway.
    pub fn gateway_spec(
        &self,
        owner: &ResourceOwner,
        image: &Pinned,
    ) -> Result<HardenedSpec, Unenforceable> {
        const MIB: u64 = 1 << 20;
        let spec = ContainerSpec {
            name: owner.gateway(),
            role: Role::Gateway,
            image: image.reference().clone(),
            privilege: Privilege::Agent,
            volumes: vec![sockets(owner, Access::ReadWrite)],
            network: Network::Engine,
            hosts: Vec::new(),
            env: BTreeMap::new(),
            workdir: "/".to_owned(),
            limits: Limits {
                // A connection that is not yet a tunnel is a thread with its stack.
                memory: 1024 * MIB,
                cpus: 2.0,
                pids: 1024,
                tmp: MIB,
                shm: MIB,
                home: MIB,
                nofile: 4096,
                fsize: MIB,
            },
            labels: owner.labels("gateway"),
        };
        HardenedSpec::new(spec, &self.info)
    }

    /// Hardens the container that reads the volume afterwards.
    ///
    /// # Errors
    /// Names the control that the engine can't enforce.
    pub fn exporter_spec(
        &self,
        record: &Record,
        image: &Pinned,
    ) -> Result<HardenedSpec, Unenforceable> {
        self.reader_spec(record, image, record.exporter(), Role::Exporter)
    }

    /// Hardens a container that reads the volume while the command runs.
    ///
    /// # Errors
    /// Names the control that the engine can't enforce.
    pub fn viewer_spec(
        &self,
        record: &Record,
        image: &Pinned,
        name: ContainerName,
    ) -> Result<HardenedSpec, Unenforceable> {
        self.reader_spec(record, image, name, Role::Viewer)
    }

    /// Hardens the container through which a volume is brought up to date while another one
    /// has it, or none.
    ///
    /// # Errors
    /// Names the control that the engine can't enforce.
    pub fn importer_spec(
        &self,
        record: &Record,
        image: &Pinned,
    ) -> Result<HardenedSpec, Unenforceable> {
        let spec = ContainerSpec {
            name: record.importer(),
            role: Role::Importer,
            image: image.reference().clone(),
            privilege: Privilege::Agent,
            volumes: vec![mount(record.volume(), Access::ReadWrite)],
            network: Network::None,
            hosts: Vec::new(),
            env: BTreeMap::new(),
            workdir: "/".to_owned(),
            limits: Limits {
                // What is sent is the user's own, and may be as large as it is.
                fsize: 1 << 43,
                ..exporter_limits()
            },
            labels: record.owner().labels("importer"),
        };
        HardenedSpec::new(spec, &self.info)
    }

    /// Hardens the container that makes entries of the volume root's, or gives them back.
    ///
    /// # Errors
    /// Names the control that the engine can't enforce.
    pub fn guard_spec(
        &self,
        record: &Record,
        image: &Pinned,
    ) -> Result<HardenedSpec, Unenforceable> {
        guard_spec(&record.owner(), &self.info, image)
    }

    fn reader_spec(
        &self,
        record: &Record,
        image: &Pinned,
        name: ContainerName,
        role: Role,
    ) -> Result<HardenedSpec, Unenforceable> {
        let word = match role {
            Role::Viewer => "viewer",
            _ => "exporter",
        };
        let spec = ContainerSpec {
            name,
            role,
            image: image.reference().clone(),
            privilege: Privilege::ReadEverything,
            volumes: vec![mount(record.volume(), Access::ReadOnly)],
            network: Network::None,
            hosts: Vec::new(),
            env: BTreeMap::new(),
            workdir: "/".to_owned(),
            limits: exporter_limits(),
            labels: record.owner().labels(word),
        };
        HardenedSpec::new(spec, &self.info)
    }
}

/// Hardens the container that makes entries of a volume root's, gives them back, or empties the
/// volume.
///
/// # Errors
/// Names the control that the engine can't enforce.
pub(crate) fn guard_spec(
    owner: &ResourceOwner,
    engine: &EngineInfo,
    image: &Pinned,
) -> Result<HardenedSpec, Unenforceable> {
    let spec = ContainerSpec {
        name: owner.name("guard"),
        role: Role::Guard,
        image: image.reference().clone(),
        privilege: Privilege::GiveAway,
        volumes: vec![mount(owner.volume(), Access::ReadWrite)],
        env: BTreeMap::new(),
        workdir: "/".to_owned(),
        limits: exporter_limits(),
        labels: owner.labels("guard"),
        network: Network::None,
        hosts: Vec::new(),
    };
    HardenedSpec::new(spec, engine)
}

fn sockets(owner: &ResourceOwner, access: Access) -> VolumeMount {
    VolumeMount {
        volume: owner.sockets(),
        target: SOCKETS.to_owned(),
        access,
    }
}

fn mount(volume: VolumeName, access: Access) -> VolumeMount {
    VolumeMount {
        volume,
        target: WORKSPACE.to_owned(),
        access,
    }
}

/// The exporter hashes and streams; its memory goes with the number of entries
/// (200,000 take some 60 MB), never with their size.
fn exporter_limits() -> Limits {
    const MIB: u64 = 1 << 20;
    Limits {
        memory: 512 * MIB,
        cpus: 4.0,
        pids: 64,
        tmp: MIB,
        shm: MIB,
        home: MIB,
        nofile: 1024,
        fsize: MIB,
    }
}

/// Names what a session has in its engine, for messages.
pub fn describe(id: &SessionId, container: &ContainerName) -> String {
    format!("container {container} of session {id}")
}
