//! `ContainerSpec`: what a caller wants of a container, before hardening.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::{AliasName, ContainerName, EnvName, ImageRef, VolumeName};

/// What a container is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Receives the workspace and runs the command.
    Agent,
    /// Reads the volume after the command: our own image, read-only mount.
    Exporter,
    /// Reads the volume while the command runs, as the exporter does afterwards.
    Viewer,
    /// Runs an install step of an image: see [`crate::HardenedSpec::for_build`].
    Builder,
    /// Writes to the volume what the workspace has that is new: our own image, the agent's
    /// user.
    Importer,
    /// Reaches the outside for a command that can't: our own image, the agent's user, the
    /// only container of a session with a route.
    Gateway,
    /// Makes entries of the volume root's, and gives them back: our own image, no other
    /// process, while nothing of the agent's runs.
    Guard,
    /// Packs commits of the volume after the command: our own image with git, read-only mount,
    /// the agent's user.
    Packer,
    /// Runs a server beside the command, such as a database: the profile's choice of an image, the
    /// agent's user, the network of the agent's container, one volume of its own.
    Service,
}

/// How a volume may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Mounted read-only.
    ReadOnly,
    /// Mounted for reading and writing.
    ReadWrite,
}

/// Who the processes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    /// Uid and gid 1000, no capability.
    Agent,
    /// Uid 0 of the container with `CAP_DAC_READ_SEARCH` alone, for the exporter:
    /// it must read files whose modes the agent took away.
    ReadEverything,
    /// Uid 0 of the container with `CAP_CHOWN` alone, for the guard: it gives entries to
    /// itself, whose mode it may change then, and back to the agent.
    ChownOnly,
    /// Uid 0 of the container with what a package manager needs (owners, modes, other
    /// users), a writable root and the engine's network, but no volume: there is
    /// nothing of the user's to reach.
    Install,
}

/// A named volume inside a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeMount {
    /// The volume.
    pub volume: VolumeName,
    /// An absolute path inside.
    pub target: String,
    /// Read-only or not.
    pub access: Access,
}

/// The resource limits. All of them are always set (docs/design/threats.md CON-07, CON-08, CON-15 to CON-17).
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Bytes of memory; swap is never added to it.
    pub memory: u64,
    /// Cores, in fractions.
    pub cpus: f64,
    /// Processes and threads.
    pub pids: u32,
    /// Bytes of the tmpfs on `/tmp`.
    pub tmp: u64,
    /// Bytes of the tmpfs on `/dev/shm`.
    pub shm: u64,
    /// Bytes of the tmpfs on the agent's home.
    pub home: u64,
    /// Open files per process (soft and hard). Lowered to the engine's own hard limit.
    pub nofile: u64,
    /// Bytes of the largest file the command may write.
    pub fsize: u64,
}

/// What a caller wants of a container. [`crate::HardenedSpec`] adds every control.
#[derive(Debug, Clone, PartialEq)]
pub struct ContainerSpec {
    /// Its name.
    pub name: ContainerName,
    /// What it is for.
    pub role: Role,
    /// The image, which has the porter as its entrypoint.
    pub image: ImageRef,
    /// Who its processes are.
    pub privilege: Privilege,
    /// The volumes it sees. There is no way to name a host path.
    pub volumes: Vec<VolumeMount>,
    /// The network that it is on.
    pub network: Network,
    /// Names that its `/etc/hosts` answers by itself, and their addresses.
    pub hosts: Vec<HostAlias>,
    /// Environment, in addition to the few variables that hardening sets.
    pub env: BTreeMap<EnvName, String>,
    /// An absolute path inside, where commands start.
    pub workdir: String,
    /// Limits.
    pub limits: Limits,
    /// Labels by full key.
    pub labels: BTreeMap<String, String>,
}

/// Which network a container is on while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// None but its own loopback. What holds for everything that a command has a say in.
    None,
    /// That of another container, which runs and has none but its own loopback. For
    /// [`Role::Service`] alone: both find the other's ports on `localhost`.
    Joined(ContainerName),
    /// One of the container's own, as the engine gives it to every container; see
    /// [`BuildNetwork::Engine`]. For [`Role::Gateway`] alone.
    Engine,
}

/// A name that a container's `/etc/hosts` answers by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostAlias {
    /// The name.
    pub name: AliasName,
    /// Its address.
    pub address: IpAddr,
}

/// What a caller wants of a container that runs an install step: no volume, no
/// workspace, and no way to name one.
#[derive(Debug, Clone, PartialEq)]
pub struct BuildSpec {
    /// Its name.
    pub name: ContainerName,
    /// The image so far, which has the porter as its entrypoint.
    pub image: ImageRef,
    /// Which network it is on while it runs.
    pub network: BuildNetwork,
    /// Labels by full key.
    pub labels: BTreeMap<String, String>,
}

/// Which network an install step is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildNetwork {
    /// One of the container's own, as the engine gives it to every container: Docker's
    /// and rootful Podman's bridge, rootless Podman's user-mode network. The host's
    /// loopback is out of reach.
    Engine,
    /// The host's, for machines where nothing else reaches the outside.
    Host,
}
