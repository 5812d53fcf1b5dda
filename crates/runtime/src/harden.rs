//! `HardenedSpec`: a container spec with every control added.
//!
//! [`Controls`] is plain data, one field or more per control of docs/design/threats.md section 2
//! (CON-01 to CON-24); each engine lowers it to its own words (`api::lower`,
//! `apple::lower`), and `porter probe` proves from inside that it is in force.
//! Sources: runc's and Docker's own hardening advice, `man 7 user_namespaces`,
//! `man 2 setrlimit`, and the CVEs named in docs/design/threats.md.

use std::borrow::Cow;
use std::collections::BTreeMap;

use lazaret_protocol::{Control, PORTER_PATH, Resource, Ulimit, filter};

use crate::{
    BuildNetwork, BuildSpec, ContainerSpec, EngineInfo, EngineKind, Label, Limits, Network,
    Privilege, Role, UserNamespace, VolumeMount, seccomp,
};

/// The uid and gid of the agent, inside.
pub const AGENT_ID: u32 = 1000;

/// The agent's home directory, inside.
pub const AGENT_HOME: &str = "/home/agent";

/// Open files per process where the engine's own hard limit is unknown.
///
/// Most machines allow more, some (this was met) no more than 20,000; asking for
/// more than the hard limit fails the start.
const NOFILE_FALLBACK: u64 = 16_384;

/// The least limit on processes of a user where their number is shared with the host's.
const SHARED_NPROC: u64 = 1 << 15;

/// Bytes of the tmpfs on `/run`: sockets and pid files.
const RUN_SIZE: u64 = 16 << 20;

/// Files that tell about the host, hidden on every engine (CON-09).
///
/// Docker's and Podman's own lists, joined, with those that newer versions added.
/// A path that does not exist on a kernel is skipped by the OCI runtime.
const MASKED_PATHS: &[&str] = &[
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/dev/block",
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
    "/sys/fs/selinux",
];

/// What the kubelet has every container runtime hide (`defaultMaskedPaths` in Kubernetes'
/// `pkg/securitycontext/util.go`, 1.20): a pod can ask for less, never for more.
const KUBERNETES_MASKED_PATHS: &[&str] = &[
    "/proc/acpi",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/firmware",
];

/// What dpkg and its like need to give files to their owners and to become other users.
const INSTALL_CAPABILITIES: [&str; 6] = [
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "SETGID",
    "SETUID",
];

/// Parts of `/proc` that steer the host (CON-10).
const READ_ONLY_PATHS: &[&str] = &[
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/sys",
    "/proc/sysrq-trigger",
];

/// A [`ContainerSpec`] with every control of docs/design/threats.md section 2.
#[derive(Debug, Clone, PartialEq)]
pub struct HardenedSpec {
    spec: ContainerSpec,
    pub(crate) engine: EngineInfo,
    pub(crate) controls: Controls,
}

/// Who the first process is, numerically: a name would be looked up in the image (CON-01).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserId {
    /// The user.
    pub uid: u32,
    /// The group; there are no supplementary ones.
    pub gid: u32,
}

/// A tmpfs mount (CON-07). Always `nosuid,nodev`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tmpfs {
    /// An absolute path inside.
    pub target: String,
    /// Bytes.
    pub size: u64,
    /// Its permission bits.
    pub mode: u32,
    /// Its options besides size and mode.
    pub options: Vec<&'static str>,
}

/// A namespace that is the container's own or the host's (CON-22).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Namespace {
    /// The container's own.
    Private,
    /// The host's: only a weakened test container has one.
    Host,
}

/// Every control, as data.
#[derive(Debug, Clone, PartialEq)]
pub struct Controls {
    /// CON-01.
    pub user: UserId,
    /// CON-02: dropped capabilities, `ALL`.
    pub cap_drop: Vec<&'static str>,
    /// CON-02: capabilities added again, without the `CAP_` prefix.
    pub cap_add: Vec<&'static str>,
    /// CON-03.
    pub no_new_privileges: bool,
    /// CON-04, CON-05, CON-24: the profile, JSON in Docker's format.
    pub seccomp: Cow<'static, str>,
    /// CON-06.
    pub read_only_rootfs: bool,
    /// CON-07.
    pub tmpfs: Vec<Tmpfs>,
    /// CON-08: bytes of `/dev/shm`.
    pub shm_size: u64,
    /// CON-09: replaces the engine's list where the engine lets it, else added to it.
    pub masked_paths: Vec<&'static str>,
    /// CON-10: likewise.
    pub read_only_paths: Vec<&'static str>,
    /// CON-14: the mapping to ask for, in Podman's words; `None` for the engine's own.
    pub userns: Option<Cow<'static, str>>,
    /// CON-15.
    pub pids: u32,
    /// CON-16: bytes of memory, and of memory and swap together.
    pub memory: u64,
    /// CON-16: bytes of memory and swap together; equal to `memory`.
    pub memory_swap: u64,
    /// CON-17: billionths of a core.
    pub nano_cpus: u64,
    /// CON-17. The engine is asked for them, and the porter sets them again for every
    /// command: rootless Podman drops what its Docker-compatible API is asked for.
    pub ulimits: Vec<Ulimit>,
    /// CON-18: the network mode: `none` but for a gateway, an install step, and a service, which
    /// joins the agent's.
    pub network: Cow<'static, str>,
    /// CON-19: host paths, `FROM:TO`; always empty but in a weakened test container.
    pub binds: Vec<&'static str>,
    /// CON-21: host devices, from and to; always empty but in a weakened test container.
    pub devices: Vec<(&'static str, &'static str)>,
    /// CON-22.
    pub ipc: Namespace,
    /// CON-22.
    pub pid: Namespace,
    /// CON-22.
    pub uts: Namespace,
    /// CON-22. Podman has none on cgroup v1, whatever it is asked for.
    pub cgroup: Namespace,
    /// CON-23: all that the processes find in their environment, besides the few names
    /// that the engine itself adds ([`ENGINE_ENV`]).
    pub env: BTreeMap<String, String>,
    /// CON-12: where processes start.
    pub workdir: String,
    /// The host name inside; says nothing of the host.
    pub hostname: &'static str,
    /// PID 1.
    pub entrypoint: &'static [&'static str],
    /// Its arguments.
    pub cmd: &'static [&'static str],
    /// The signal that a stop begins with.
    pub stop_signal: &'static str,
    /// Seconds between it and SIGKILL where the caller names none.
    pub stop_timeout: u32,
    /// The engine's log driver: with any other the workspace would end up in the engine's log.
    pub log_driver: &'static str,
}

/// Names that engines add to the environment on their own.
pub const ENGINE_ENV: &[&str] = &["HOME", "HOSTNAME", "PATH", "TERM", "container"];

/// What the engine can't enforce.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unenforceable {
    /// A control.
    #[error("{engine} can't enforce {control}")]
    Control {
        /// The engine.
        engine: String,
        /// The control.
        control: Control,
    },
    /// That a container without a network reaches one through another container: the volume
    /// between the two can't be in both.
    #[error("{engine} can give a session no network")]
    Gateway {
        /// The engine.
        engine: String,
    },
    /// A network for a container that is no gateway.
    #[error("only a gateway may have a network")]
    Network,
    /// That a container of ours is root inside.
    #[error("{engine} can't {task}: its containers can't be root")]
    Root {
        /// The engine.
        engine: String,
        /// What root is needed for.
        task: &'static str,
    },
    /// That a container joins the network of another one.
    #[error("{engine} can run no services: its containers can't share a network")]
    Services {
        /// The engine.
        engine: String,
    },
}

impl HardenedSpec {
    /// Adds every control.
    ///
    /// # Errors
    /// Names the first control that the engine can't enforce; nothing is ever left out.
    pub fn new(spec: ContainerSpec, engine: &EngineInfo) -> Result<Self, Unenforceable> {
        if let Some(&control) = engine.unenforceable.first() {
            return Err(Unenforceable::Control {
                engine: engine.endpoint.clone(),
                control,
            });
        }
        match (&spec.network, spec.role) {
            (Network::Joined(_), Role::Service) if !engine.capabilities.joins_networks => {
                return Err(Unenforceable::Services {
                    engine: engine.endpoint.clone(),
                });
            }
            (Network::Joined(_), Role::Service)
            | (Network::Engine, Role::Gateway)
            | (Network::None, _) => {}
            _ => return Err(Unenforceable::Network),
        }
        if spec.role == Role::Gateway && !engine.capabilities.has_gateway {
            return Err(Unenforceable::Gateway {
                engine: engine.endpoint.clone(),
            });
        }
        if spec.privilege != Privilege::Agent && !engine.capabilities.has_root {
            return Err(Unenforceable::Root {
                engine: engine.endpoint.clone(),
                task: match spec.role {
                    Role::Builder => "run install steps",
                    Role::Guard => "protect paths",
                    _ => "read every file",
                },
            });
        }
        let controls = Controls::of(&spec, engine);
        Ok(Self {
            spec,
            engine: engine.clone(),
            controls,
        })
    }

    /// Adds every control that an install step can work under. It is root inside, writes
    /// to its own root and has a network; there are no volumes, no set-id, no devices, and
    /// the seccomp profile, the masked paths and the namespaces are those of a session.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn for_build(build: BuildSpec, engine: &EngineInfo) -> Result<Self, Unenforceable> {
        const GIB: u64 = 1 << 30;
        let spec = ContainerSpec {
            name: build.name,
            role: Role::Builder,
            image: build.image,
            privilege: Privilege::Install,
            volumes: Vec::new(),
            network: Network::None,
            hosts: Vec::new(),
            env: BTreeMap::new(),
            workdir: "/".to_owned(),
            limits: Limits {
                memory: 8 * GIB,
                cpus: 64.0,
                pids: 4096,
                tmp: 0,
                shm: 64 << 20,
                home: 0,
                nofile: 1 << 16,
                fsize: 16 * GIB,
            },
            labels: build.labels,
        };
        let mut hardened = Self::new(spec, engine)?;
        hardened.controls.network = match build.network {
            BuildNetwork::Engine => "default".into(),
            BuildNetwork::Host => "host".into(),
        };
        Ok(hardened)
    }

    /// Returns what was asked for.
    pub fn spec(&self) -> &ContainerSpec {
        &self.spec
    }

    /// Returns the engine that it was made for.
    pub fn engine(&self) -> &EngineInfo {
        &self.engine
    }

    /// Returns every control.
    pub fn controls(&self) -> &Controls {
        &self.controls
    }

    /// Returns the controls that must be proven: the same, but in a weakened test container.
    pub(crate) fn required(&self) -> Controls {
        Controls::of(&self.spec, &self.engine)
    }
}

impl Controls {
    fn of(spec: &ContainerSpec, engine: &EngineInfo) -> Self {
        let limits = &spec.limits;
        let (user, cap_add) = match spec.privilege {
            Privilege::Agent => (
                UserId {
                    uid: AGENT_ID,
                    gid: AGENT_ID,
                },
                vec![],
            ),
            Privilege::ReadEverything => (UserId { uid: 0, gid: 0 }, vec!["DAC_READ_SEARCH"]),
            Privilege::ChownOnly => (UserId { uid: 0, gid: 0 }, vec!["CHOWN"]),
            Privilege::Install => (UserId { uid: 0, gid: 0 }, INSTALL_CAPABILITIES.to_vec()),
        };
        let installs = spec.privilege == Privilege::Install;
        Self {
            user,
            cap_drop: vec!["ALL"],
            cap_add,
            no_new_privileges: true,
            seccomp: Cow::Borrowed(seccomp::PROFILE),
            read_only_rootfs: !installs,
            // What a step leaves in its scratch space is dropped from the layer anyway, and
            // compilers fill more of it than memory holds.
            tmpfs: if installs { vec![] } else { tmpfs(spec) },
            shm_size: limits.shm,
            masked_paths: masked_paths(spec, engine),
            read_only_paths: READ_ONLY_PATHS.to_vec(),
            userns: match engine.kind == EngineKind::Podman && engine.rootless && !installs {
                true => Some(mapping(&spec.network)),
                false => None,
            },
            pids: limits.pids,
            memory: limits.memory,
            memory_swap: limits.memory,
            nano_cpus: nano_cpus(match engine.cores {
                Some(cores) => limits.cpus.min(f64::from(cores)),
                None => limits.cpus,
            }),
            ulimits: ulimits(spec, engine),
            network: match &spec.network {
                Network::None => "none".into(),
                Network::Joined(other) => format!("container:{other}").into(),
                Network::Engine => "default".into(),
            },
            binds: vec![],
            devices: vec![],
            ipc: Namespace::Private,
            pid: Namespace::Private,
            uts: Namespace::Private,
            cgroup: match (engine.kind, engine.cgroup_version.as_str()) {
                // A pod can't ask for one; with cgroup v2 it has one.
                (EngineKind::Podman, "1") | (EngineKind::Kubernetes, _) => Namespace::Host,
                _ => Namespace::Private,
            },
            env: environment(spec, engine),
            workdir: spec.workdir.clone(),
            hostname: "lazaret",
            entrypoint: &[PORTER_PATH],
            cmd: &["init"],
            stop_signal: "SIGTERM",
            stop_timeout: 15,
            log_driver: "none",
        }
    }
}

/// Returns what is hidden.
fn masked_paths(spec: &ContainerSpec, engine: &EngineInfo) -> Vec<&'static str> {
    let mut paths = match engine.kind {
        EngineKind::Kubernetes => KUBERNETES_MASKED_PATHS.to_vec(),
        _ => MASKED_PATHS.to_vec(),
    };
    // Rootless Podman gives a container that joins another one's network the host's own /sys, in
    // which cgroups are mounted for writing.
    let is_joined = matches!(spec.network, Network::Joined(_));
    if is_joined && engine.kind == EngineKind::Podman && engine.rootless {
        paths.push("/sys");
    }
    paths
}

/// Returns the user namespace of a container of rootless Podman.
fn mapping(network: &Network) -> Cow<'static, str> {
    match network {
        // A network belongs to a user namespace: from another one, /sys can't be mounted.
        Network::Joined(other) => format!("container:{other}").into(),
        // Without keep-id, uid 1000 inside is one of the subordinate ids: the mapping
        // is there either way, but `keep-id` lets the volume's owner be the user.
        Network::None | Network::Engine => "keep-id:uid=1000,gid=1000".into(),
    }
}

/// Returns the scratch space. Every tmpfs is the agent's only place to write besides the
/// volume, and none of them may hold a program (CON-07).
///
/// `/run` and `/var/tmp` are there because Podman adds them to a read-only root anyway,
/// each as large as half of the host's memory unless it is told a size.
fn tmpfs(spec: &ContainerSpec) -> Vec<Tmpfs> {
    // No `uid=`: Podman refuses it. The OCI runtime prefers the mode of the image's own
    // directory to ours, so images have a sticky, world-writable home.
    let mount = |target: &str, size| Tmpfs {
        target: target.to_owned(),
        size,
        mode: 0o1777,
        options: vec!["rw", "noexec", "nosuid", "nodev"],
    };
    let mut mounts = vec![
        mount("/run", RUN_SIZE),
        mount("/tmp", spec.limits.tmp),
        mount("/var/tmp", spec.limits.tmp),
    ];
    // A home that is kept is a volume, like the workspace.
    let is_kept = (spec.volumes.iter()).any(|volume| volume.target == AGENT_HOME);
    if spec.privilege == Privilege::Agent && !is_kept {
        mounts.push(mount(AGENT_HOME, spec.limits.home));
        let parents = parents_in_home(&spec.volumes);
        mounts.extend(parents.iter().map(|parent| mount(parent, spec.limits.home)));
    }
    mounts
}

/// Returns the directories between the home and the volumes in it, those above first. The OCI
/// runtime would make them root's, and the agent could write to none of them.
fn parents_in_home(volumes: &[VolumeMount]) -> Vec<String> {
    let mut parents = Vec::new();
    for volume in volumes {
        let below = volume.target.strip_prefix(AGENT_HOME);
        let below = below.and_then(|below| below.strip_prefix('/'));
        let below = below.unwrap_or_default();
        for (end, _) in below.match_indices('/') {
            let parent = format!("{AGENT_HOME}/{}", below.get(..end).unwrap_or_default());
            if !parents.contains(&parent) {
                parents.push(parent);
            }
        }
    }
    parents
}

/// Returns the per-process limits, none above what the engine may hand out.
fn ulimits(spec: &ContainerSpec, engine: &EngineInfo) -> Vec<Ulimit> {
    let limits = &spec.limits;
    // The kernel counts processes per user and user namespace (since 5.14). Without one
    // the count is shared with every other session and with the host's own uid 1000, so
    // there the pids cgroup is the limit, and this one is a wide second fence: the user of a
    // desktop, who often has uid 1000, has thousands of threads.
    let nproc = match engine.user_namespace {
        UserNamespace::Mapped if spec.role != Role::Service => u64::from(limits.pids),
        // A service shares the agent's.
        UserNamespace::Mapped | UserNamespace::Host => {
            u64::from(limits.pids).saturating_mul(8).max(SHARED_NPROC)
        }
    };
    let nofile = limits
        .nofile
        .min(engine.nofile_hard.unwrap_or(NOFILE_FALLBACK));
    let nproc = nproc.min(engine.nproc_hard.unwrap_or(u64::MAX));
    let mut ulimits = vec![
        Ulimit {
            resource: Resource::Core,
            limit: 0,
        },
        Ulimit {
            resource: Resource::Fsize,
            limit: limits.fsize,
        },
        Ulimit {
            resource: Resource::Nofile,
            limit: nofile,
        },
        Ulimit {
            resource: Resource::Nproc,
            limit: nproc,
        },
    ];
    if engine.not_applicable.contains_key(&Control::Memory) {
        // Nothing counts the container's memory as a whole: bound each process at least.
        ulimits.push(Ulimit {
            resource: Resource::Data,
            limit: limits.memory,
        });
    }
    ulimits
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "profiles give cores between 0.01 and a few thousand"
)]
fn nano_cpus(cpus: f64) -> u64 {
    (cpus * 1e9) as u64
}

/// Returns the whole environment: a few fixed variables, the markers, and what was asked for.
fn environment(spec: &ContainerSpec, engine: &EngineInfo) -> BTreeMap<String, String> {
    let mut env = BTreeMap::from([
        (
            "PATH".to_owned(),
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned(),
        ),
        ("HOME".to_owned(), AGENT_HOME.to_owned()),
        ("LANG".to_owned(), "C.UTF-8".to_owned()),
        ("LAZARET".to_owned(), "1".to_owned()),
    ]);
    if let Some(session) = spec.labels.get(Label::Session.key()) {
        env.insert("LAZARET_SESSION".to_owned(), session.clone());
    }
    if engine.kind == EngineKind::Kubernetes {
        env.insert(filter::VARIABLE.to_owned(), filter::UNIX_SOCKETS.to_owned());
    }
    for (name, value) in &spec.env {
        env.insert(name.as_str().to_owned(), value.clone());
    }
    env
}

#[cfg(test)]
pub(crate) mod tests;
