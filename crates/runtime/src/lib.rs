//! Container engines behind one synchronous, object-safe trait.
//!
//! Knows nothing of files or policy: bytes go in and out as streams. tokio and
//! bollard stay inside `api`.

mod api;
mod apple;
mod detect;
mod engine;
mod engine_error;
mod engine_info;
#[cfg(feature = "fake")]
pub mod fake;
mod harden;
mod init_channel;
mod kubernetes;
mod lease;
mod names;
mod process;
mod proof;
mod seat;
mod seccomp;
mod spawner;
mod spec;
mod stored_controls;
#[cfg(feature = "weaken")]
mod weaken;

pub use api::ApiEngine;
pub use apple::AppleEngine;
pub use detect::{
    Candidate, Candidates, ChoiceError, DecidedBy, DetectError, Detected, Endpoint, EngineChoice,
    EngineRequest, Environment, InfoCache, KubernetesAddress, NamedEngine, SshAddress, TlsAddress,
    candidates, detect, detect_all, detect_cached,
};
pub use engine::{ContainerInfo, ContainerState, Engine, ImageInfo, VolumeInfo};
pub use engine_error::EngineError;
pub use engine_info::{
    Capabilities, EngineInfo, EngineKind, Locality, Pausing, ServerVersion, UserNamespace,
};
pub use harden::{
    AGENT_HOME, AGENT_ID, Controls, ENGINE_ENV, HardenedSpec, Namespace, Tmpfs, Unenforceable,
    UserId,
};
pub use init_channel::{ConnectedChannel, InitChannel, StartError};
pub use kubernetes::{ClusterError, KubernetesEngine};
pub use lease::{ContainerLease, Lease, Removable, UnremovedResource, VolumeLease, unremoved};
pub use names::{
    AliasName, ContainerName, EnvName, ImageRef, Label, NameError, ServiceName, SessionId,
    VolumeId, VolumeName,
};
pub use process::{
    ExecSpec, Process, ProcessControl, Stdin, Terminal, TerminalSize, WhenAbandoned,
};
pub use proof::{Expected, ProbeFailure, Proof, Proven, ProvenControl};
pub use seat::ConnectionChange;
pub use seccomp::PROFILE as SECCOMP_PROFILE;
pub use spawner::{EndChanges, Spawner, Transport};
pub use spec::{
    Access, BuildNetwork, BuildSpec, ContainerSpec, HostAlias, Limits, Network, Privilege, Role,
    VolumeMount,
};
