//! `EngineInfo`: what an engine is, and what it can enforce.

use std::collections::BTreeMap;
use std::fmt;

use lazaret_protocol::Control;
use serde::{Deserialize, Serialize};

/// Which program an engine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EngineKind {
    /// Docker, or something that speaks its API.
    Docker,
    /// Podman.
    Podman,
    /// Apple `container`.
    Apple,
    /// A namespace of a Kubernetes cluster.
    Kubernetes,
    /// The in-memory engine of the tests.
    Fake,
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Docker => "Docker",
            Self::Podman => "Podman",
            Self::Apple => "Apple container",
            Self::Kubernetes => "Kubernetes",
            Self::Fake => "fake engine",
        })
    }
}

/// How container ids relate to the host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum UserNamespace {
    /// None: uid 0 inside is uid 0 outside (CON-14: warned about).
    Host,
    /// The engine maps ids for every container (rootless, userns-remap).
    Mapped,
}

/// How the processes of a container can be made to stand still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pausing {
    /// The engine freezes the container.
    Freezer,
    /// The engine can't: its processes have to be stopped by signals, from inside.
    Signals,
    /// Not at all.
    None,
}

/// Where the containers of an engine run, seen from this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Locality {
    /// On this kernel.
    Local,
    /// On this machine, each under a kernel of its own: no limit of this kernel is shared.
    VirtualMachine,
    /// Behind a network: bytes cost more on the way there than at its ends.
    Remote,
}

/// What engines differ in, beyond the controls that they enforce. Code above this crate asks
/// for one of these, never for the kind of an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// How the processes of a container are paused.
    pub pausing: Pausing,
    /// Whether two running containers can have one volume. Where not, a volume is an image of
    /// a disk, which is removed as one file.
    pub shares_volumes: bool,
    /// Whether a container can reach the network through a gateway of ours.
    pub has_gateway: bool,
    /// Whether a container can join the network of another one.
    pub joins_networks: bool,
    /// Whether a container of ours may be root inside, with the one capability that it needs.
    pub has_root: bool,
    /// Whether what the engine starts has no parent in the container, by which a seat knows who
    /// brings it another connection.
    pub starts_without_parent: bool,
    /// Where containers run.
    pub locality: Locality,
}

impl Capabilities {
    /// Those of an engine whose containers are namespaces of one kernel.
    pub const SHARED_KERNEL: Self = Self {
        pausing: Pausing::Freezer,
        shares_volumes: true,
        has_gateway: true,
        joins_networks: true,
        has_root: true,
        starts_without_parent: true,
        locality: Locality::Local,
    };
    /// Those of an engine that gives each container a virtual machine.
    pub const VIRTUAL_MACHINES: Self = Self {
        pausing: Pausing::None,
        shares_volumes: false,
        has_gateway: false,
        joins_networks: false,
        has_root: true,
        starts_without_parent: true,
        locality: Locality::VirtualMachine,
    };
    /// Those of a Kubernetes cluster that enforces the Pod Security Standard "restricted".
    pub const PODS: Self = Self {
        pausing: Pausing::Signals,
        shares_volumes: true,
        has_gateway: false,
        joins_networks: false,
        has_root: false,
        starts_without_parent: false,
        locality: Locality::Remote,
    };
}

/// What an engine is and what it can enforce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineInfo {
    /// Which program.
    pub kind: EngineKind,
    /// Its version, as it reports it.
    pub version: String,
    /// The negotiated API version, where there is one.
    pub api_version: Option<String>,
    /// Where it was reached, for people.
    pub endpoint: String,
    /// Whether it runs without root.
    pub rootless: bool,
    /// The mapping of ids.
    pub user_namespace: UserNamespace,
    /// The processor architecture of its containers, in Docker's words (`amd64`).
    pub architecture: String,
    /// The cores of the machine that its containers run on; `None` where it does not say.
    /// Docker refuses a limit above them, so a limit is lowered to them.
    pub cores: Option<u32>,
    /// `1`, `2` or empty where it does not say.
    pub cgroup_version: String,
    /// The OCI runtime it uses by default, with a version where it tells one.
    pub runtime: String,
    /// The most open files that the engine can give a process; `None` where unknown.
    pub nofile_hard: Option<u64>,
    /// The most processes that the engine can give a user; `None` where unknown.
    pub nproc_hard: Option<u64>,
    /// What else it can do.
    pub capabilities: Capabilities,
    /// The controls it can't enforce. A spec is refused with the first of them named.
    #[serde(with = "crate::stored_controls::list")]
    pub unenforceable: Vec<Control>,
    /// The controls that have no meaning there (each Apple container is a virtual
    /// machine) or that the host has no means for (rootless Podman on cgroup v1 can't
    /// limit memory and pids; a kernel without a security module), with the reason.
    /// Reported as `n/a` with that reason, never as passed.
    #[serde(with = "crate::stored_controls::map")]
    pub not_applicable: BTreeMap<Control, String>,
    /// Known weaknesses of these versions, for `doctor` (CON-26). Warnings, not proof.
    pub warnings: Vec<String>,
}

impl EngineInfo {
    /// Whether a process can go on when the connection to the engine is lost, and be reached by
    /// another one.
    pub fn resumes_connections(&self) -> bool {
        self.is_remote() && self.capabilities.starts_without_parent
    }

    /// Whether it was reached over a network.
    pub fn is_remote(&self) -> bool {
        self.capabilities.locality == Locality::Remote
    }
}

/// What an engine says of itself with every answer. A probe that was made under the same
/// greeting is likely to say the same again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerVersion {
    /// Where it was reached.
    pub endpoint: String,
    /// Its version.
    pub version: String,
    /// The negotiated API version.
    pub api_version: String,
}

impl ServerVersion {
    /// Whether the engine is on this machine.
    pub fn is_here(&self) -> bool {
        self.endpoint.starts_with("unix://")
    }
}
