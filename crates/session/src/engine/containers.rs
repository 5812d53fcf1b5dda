//! Which containers a session has, and how each is hardened.
//!
//! | role | image | volume | user | when |
//! |---|---|---|---|---|
//! | agent | the profile's | read-write; those of the profile | agent | from the copy to the end of the command |
//! | gateway | porter | none; the sockets | agent | beside the agent, with a network |
//! | exporter | porter | read-only; the session's others, to count them | reads everything | at the collection |
//! | viewer | porter | read-only | reads everything | for one look at a running command |
//! | importer | porter | read-write | agent | for one `sync`, or to copy a shared volume or extra directories |
//! | guard | porter | read-write | changes owners | to protect, give back or empty |
//! | service | the profile's | its own, read-write; never the workspace | agent | beside the command, in the agent's network |
//! | cleaner | porter | the home, read-write; never the workspace | agent | to remove lent files |
//! | packer | base | read-only | agent | to pack commits after the command |

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use lazaret_egress::Policy;
use lazaret_image_builder::Pinned;
use lazaret_runtime::{
    AGENT_HOME, Access, ContainerName, ContainerSpec, EngineInfo, HardenedSpec, HostAlias, Limits,
    Network, Privilege, Role, ServiceName, Unenforceable, VolumeMount, VolumeName,
};

use crate::context::{SessionContext, WORKSPACE};
use crate::engine::counted::CountedVolumes;
use crate::engine::mount::MountPlan;
use crate::engine::owner::ResourceOwner;
use crate::network::{SOCKETS, aliases};
use crate::store::record::Record;

const MIB: u64 = 1 << 20;

/// Everything that an engine fixes when it makes the containers of a command: containers of
/// equal plans differ in their names only.
#[derive(Debug, Clone)]
pub struct ContainerPlan {
    /// The profile's name: the pool counts by it.
    pub profile: String,
    /// The image of the command's container.
    pub image: Pinned,
    /// The image of the gateway's.
    pub porter: Pinned,
    /// Limits of the command's container.
    pub limits: Limits,
    /// What may be reached; `None` without a network.
    pub policy: Option<Policy>,
    /// The services beside the command.
    pub services: Vec<ServiceName>,
    /// Where the home of the command is.
    pub home: HomeStorage,
    /// The command's volumes beside that of the workspace.
    pub mounts: Vec<MountPlan>,
}

/// Where the home of a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HomeStorage {
    /// In memory: it goes with the container.
    Memory,
    /// In a volume of the session's.
    Volume,
}

impl ContainerPlan {
    /// Returns the names that lead to the loopback inside: those of hosts that may be reached, and
    /// of services. With any of them `localhost` is a name as well: Docker writes no `/etc/hosts`
    /// for a container without.
    pub(crate) fn hosts(&self) -> Vec<HostAlias> {
        let mut hosts = self.policy.as_ref().map(aliases).unwrap_or_default();
        let names = (self.services.iter()).filter_map(|name| name.as_str().parse().ok());
        hosts.extend(names.map(|name| HostAlias {
            name,
            address: Ipv4Addr::LOCALHOST.into(),
        }));
        hosts
    }
}

/// The containers of a command, hardened.
#[derive(Debug)]
pub(crate) struct ContainerSpecs {
    pub(crate) agent: HardenedSpec,
    /// `None` without a network.
    pub(crate) gateway: Option<HardenedSpec>,
}

impl ContainerSpecs {
    /// Hardens the containers of a plan.
    ///
    /// # Errors
    /// Names the control that the engine can't enforce.
    pub(crate) fn of(
        cx: &SessionContext<'_>,
        owner: &ResourceOwner,
        plan: &ContainerPlan,
    ) -> Result<Self, Unenforceable> {
        let gateway = plan
            .policy
            .as_ref()
            .map(|_| gateway(cx, owner, &plan.porter));
        Ok(Self {
            agent: cx.agent_spec(owner, plan)?,
            gateway: gateway.transpose()?,
        })
    }
}

fn gateway(
    cx: &SessionContext<'_>,
    owner: &ResourceOwner,
    image: &Pinned,
) -> Result<HardenedSpec, Unenforceable> {
    let spec = ContainerSpec {
        volumes: vec![sockets(owner, Access::ReadWrite)],
        network: Network::Engine,
        limits: Limits {
            // A connection that is not yet a tunnel is a thread with its stack.
            memory: 1024 * MIB,
            cpus: 2.0,
            pids: 1024,
            nofile: 4096,
            ..porter_limits()
        },
        ..base(owner, Role::Gateway, image)
    };
    HardenedSpec::new(spec, &cx.info)
}

impl SessionContext<'_> {
    /// Hardens the container that the command runs in.
    ///
    /// # Errors
    /// Names the control that the engine can't enforce.
    pub fn agent_spec(
        &self,
        owner: &ResourceOwner,
        plan: &ContainerPlan,
    ) -> Result<HardenedSpec, Unenforceable> {
        let policy = plan.policy.as_ref();
        let mut volumes = vec![workspace(owner.volume(), Access::ReadWrite)];
        // Connecting to a socket needs no right to write to its directory; replacing it would.
        volumes.extend(policy.map(|_| sockets(owner, Access::ReadOnly)));
        volumes.extend((plan.home == HomeStorage::Volume).then(|| home(owner)));
        volumes.extend(plan.mounts.iter().map(|mount| mount.of(owner)));
        let spec = ContainerSpec {
            volumes,
            hosts: plan.hosts(),
            workdir: WORKSPACE.to_owned(),
            limits: plan.limits.clone(),
            ..base(owner, Role::Agent, &plan.image)
        };
        HardenedSpec::new(spec, &self.info)
    }

    /// Hardens the container that reads the volume after the command, and meanwhile counts what
    /// that and the volumes `counted` hold.
    ///
    /// # Errors
    /// Names the control that the engine can't enforce.
    pub fn exporter_spec(
        &self,
        record: &Record,
        image: &Pinned,
        counted: &CountedVolumes,
    ) -> Result<HardenedSpec, Unenforceable> {
        let mut spec = helper(&record.owner(), Role::Exporter, image, &self.info);
        spec.volumes.extend(counted.mounts());
        HardenedSpec::new(spec, &self.info)
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
        let spec = ContainerSpec {
            name,
            ..helper(&record.owner(), Role::Viewer, image, &self.info)
        };
        HardenedSpec::new(spec, &self.info)
    }

    /// Hardens the container through which `sync` updates a volume.
    ///
    /// # Errors
    /// Names the control that the engine can't enforce.
    pub fn importer_spec(
        &self,
        record: &Record,
        image: &Pinned,
    ) -> Result<HardenedSpec, Unenforceable> {
        let spec = helper(&record.owner(), Role::Importer, image, &self.info);
        HardenedSpec::new(spec, &self.info)
    }

    /// Hardens the container in which git packs commits of the volume; `image` is the one with
    /// git, `base`.
    ///
    /// # Errors
    /// Names the control that the engine can't enforce.
    pub fn packer_spec(
        &self,
        record: &Record,
        image: &Pinned,
    ) -> Result<HardenedSpec, Unenforceable> {
        let helper = helper(&record.owner(), Role::Packer, image, &self.info);
        let spec = ContainerSpec {
            limits: Limits {
                // git keeps some 100 bytes for each object, and the blobs that it compares.
                memory: 1024 * MIB,
                ..porter_limits()
            },
            ..helper
        };
        HardenedSpec::new(spec, &self.info)
    }
}

/// Hardens a container that protects entries of a volume, gives them back, or empties it. The
/// volume is mounted at [`WORKSPACE`], whatever it holds.
///
/// # Errors
/// Names the control that the engine can't enforce.
pub(crate) fn guard_spec(
    owner: &ResourceOwner,
    name: ContainerName,
    volume: VolumeName,
    engine: &EngineInfo,
    image: &Pinned,
) -> Result<HardenedSpec, Unenforceable> {
    let spec = ContainerSpec {
        name,
        volumes: vec![workspace(volume, Access::ReadWrite)],
        ..helper(owner, Role::Guard, image, engine)
    };
    HardenedSpec::new(spec, engine)
}

/// Hardens the container that removes lent files from a home, mounted at [`WORKSPACE`].
///
/// # Errors
/// Names the control that the engine can't enforce.
pub(crate) fn home_cleaner_spec(
    owner: &ResourceOwner,
    engine: &EngineInfo,
    image: &Pinned,
) -> Result<HardenedSpec, Unenforceable> {
    let spec = ContainerSpec {
        name: owner.home_cleaner(),
        volumes: vec![workspace(owner.home_volume(), Access::ReadWrite)],
        ..helper(owner, Role::Importer, image, engine)
    };
    HardenedSpec::new(spec, engine)
}

/// A container of an image of ours that works on the volume of `owner`.
fn helper(owner: &ResourceOwner, role: Role, image: &Pinned, engine: &EngineInfo) -> ContainerSpec {
    let (privilege, access) = match role {
        // The agent's user can open up what the agent has closed, but for that it has to write.
        Role::Exporter | Role::Viewer if !engine.capabilities.has_root => {
            (Privilege::Agent, Access::ReadWrite)
        }
        Role::Exporter | Role::Viewer => (Privilege::ReadEverything, Access::ReadOnly),
        Role::Guard => (Privilege::ChownOnly, Access::ReadWrite),
        Role::Packer => (Privilege::Agent, Access::ReadOnly),
        _ => (Privilege::Agent, Access::ReadWrite),
    };
    let fsize = match role {
        // What is sent is the user's own, and may be as large as it is.
        Role::Importer => 1 << 43,
        _ => MIB,
    };
    ContainerSpec {
        privilege,
        volumes: vec![workspace(owner.volume(), access)],
        limits: Limits {
            fsize,
            ..porter_limits()
        },
        ..base(owner, role, image)
    }
}

/// A container with no volume and no network, whose command runs as the agent.
pub(crate) fn base(owner: &ResourceOwner, role: Role, image: &Pinned) -> ContainerSpec {
    let word = match role {
        Role::Agent => "agent",
        Role::Gateway => "gateway",
        Role::Exporter => "exporter",
        Role::Viewer => "viewer",
        Role::Importer => "importer",
        Role::Guard => "guard",
        Role::Packer => "packer",
        Role::Service => "service",
        Role::Builder => "builder",
    };
    ContainerSpec {
        name: owner.name(word),
        role,
        image: image.reference().clone(),
        privilege: Privilege::Agent,
        volumes: Vec::new(),
        network: Network::None,
        hosts: Vec::new(),
        // The command gets its variables when it starts: the engine shows these to anyone.
        env: BTreeMap::new(),
        workdir: "/".to_owned(),
        limits: porter_limits(),
        labels: owner.labels(word),
    }
}

/// The porter hashes and streams; its memory goes with the number of entries (200,000 take
/// some 60 MB), never with their size.
fn porter_limits() -> Limits {
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

fn sockets(owner: &ResourceOwner, access: Access) -> VolumeMount {
    VolumeMount {
        volume: owner.sockets(),
        target: SOCKETS.to_owned(),
        access,
    }
}

fn home(owner: &ResourceOwner) -> VolumeMount {
    VolumeMount {
        volume: owner.home_volume(),
        target: AGENT_HOME.to_owned(),
        access: Access::ReadWrite,
    }
}

fn workspace(volume: VolumeName, access: Access) -> VolumeMount {
    VolumeMount {
        volume,
        target: WORKSPACE.to_owned(),
        access,
    }
}
