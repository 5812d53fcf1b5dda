//! The engines of the matrix, and their sockets.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::OnceLock;

use crate::cluster;

/// An engine by the name that `lazaret --engine` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineName {
    Docker,
    Podman,
    PodmanRootless,
    /// The cluster of `cargo xtask setup --kubernetes`; it runs only if it is named.
    Kubernetes,
}

/// The state of the cluster that `cargo xtask setup --kubernetes` starts, set once by `main`.
pub(crate) static CLUSTER: OnceLock<PathBuf> = OnceLock::new();

impl EngineName {
    pub(crate) const ALL: [Self; 3] = [Self::Docker, Self::Podman, Self::PodmanRootless];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
            Self::PodmanRootless => "podman-rootless",
            Self::Kubernetes => "kubernetes",
        }
    }

    /// Whether it has what a scenario needs.
    pub(crate) fn runs(self, scenario: &str) -> bool {
        self != Self::Kubernetes || cluster::runs(scenario)
    }

    /// What `lazaret --engine` is given.
    pub(crate) fn address(self) -> &'static str {
        match self {
            Self::Kubernetes => cluster::ADDRESS,
            other => other.as_str(),
        }
    }

    /// Where it listens; of a cluster the directory of its state. For rootless Podman: the socket of
    /// the caller, or of the user that `cargo xtask setup` made.
    pub(crate) fn socket(self) -> PathBuf {
        match self {
            Self::Docker => PathBuf::from("/var/run/docker.sock"),
            Self::Podman => PathBuf::from("/run/podman/podman.sock"),
            Self::PodmanRootless => {
                rootless_socket().unwrap_or_else(|| PathBuf::from("/run/user/podman.sock"))
            }
            Self::Kubernetes => CLUSTER.get().cloned().unwrap_or_default(),
        }
    }
}

fn rootless_socket() -> Option<PathBuf> {
    let own = rustix::process::getuid();
    let own_socket = socket_of(Path::new("/run/user").join(own.as_raw().to_string()));
    if !own.is_root() && own_socket.exists() {
        return Some(own_socket);
    }
    let mut sockets: Vec<PathBuf> = std::fs::read_dir("/run/user")
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|dir| dir.file_name().is_some_and(|name| name != "0"))
        .map(socket_of)
        .filter(|socket| socket.exists())
        .collect();
    sockets.sort();
    sockets.into_iter().next()
}

fn socket_of(runtime_dir: PathBuf) -> PathBuf {
    runtime_dir.join("podman/podman.sock")
}

impl fmt::Display for EngineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for EngineName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .chain([Self::Kubernetes])
            .find(|name| name.as_str() == text)
            .ok_or_else(|| {
                format!("`{text}` is no engine: docker, podman, podman-rootless, kubernetes")
            })
    }
}
