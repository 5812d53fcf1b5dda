//! Container engines behind one synchronous, object-safe trait.
//!
//! Knows nothing of files or policy: bytes go in and out as streams. tokio and
//! bollard stay inside `api`.

mod engine;
mod harden;
mod names;
mod spec;

pub use engine::{
    ContainerInfo, ContainerState, Engine, EngineError, EngineInfo, EngineKind, ExecSpec,
    ImageInfo, Process, ProcessControl, Stdin, Terminal, TerminalSize, UserNamespace, VolumeInfo,
};
pub use harden::{HardenedSpec, Unenforceable};
pub use names::{ContainerName, EnvName, ImageRef, Label, NameError, SessionId, VolumeName};
pub use spec::{Access, ContainerSpec, Limits, Privilege, Role, VolumeMount};
