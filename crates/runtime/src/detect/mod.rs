//! Finds an engine: which one was asked for, where it may listen, which one answers.
//!
//! What the user chose is final: `--engine`, `LAZARET_ENGINE`, `DOCKER_HOST`, a Docker context
//! or `CONTAINER_HOST` name the one location that is tried, and if it can't be used, that is an
//! error (NET-25). The order without a choice: the default Docker sockets; the Podman sockets
//! (rootful, then the user's), a private `podman system service`; Apple `container`.

mod choice;
mod choice_error;
mod chosen;
mod decided;
mod endpoint;
mod kubernetes_address;
mod locations;
mod service;

pub use choice::{EngineChoice, NamedEngine};
pub use choice_error::ChoiceError;
pub use decided::{DecidedBy, EngineRequest};
pub use endpoint::{Endpoint, SshAddress, TlsAddress};
pub use kubernetes_address::KubernetesAddress;

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::locations::{Connector, EngineLocation, Requirement, Search, search};
use self::service::PodmanService;
use crate::api::ApiEngine;
use crate::apple::AppleEngine;
use crate::kubernetes::KubernetesEngine;
use crate::{Engine, EngineError, EngineInfo, EngineKind, ServerVersion};

/// What detection reads of the process's environment. Filled once, in `main`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// `DOCKER_HOST`.
    pub docker_host: Option<String>,
    /// `DOCKER_CONTEXT`.
    pub docker_context: Option<String>,
    /// `DOCKER_CONFIG`: the directory used instead of `~/.docker`.
    pub docker_config: Option<PathBuf>,
    /// `DOCKER_TLS_VERIFY`.
    pub docker_tls_verify: Option<String>,
    /// `DOCKER_TLS`.
    pub docker_tls: Option<String>,
    /// `DOCKER_CERT_PATH`.
    pub docker_cert_path: Option<String>,
    /// `CONTAINER_HOST`.
    pub container_host: Option<String>,
    /// `KUBECONFIG`: files with contexts, used instead of `~/.kube/config`.
    pub kubeconfig: Option<OsString>,
    /// `XDG_RUNTIME_DIR`.
    pub xdg_runtime_dir: Option<PathBuf>,
    /// `HOME`.
    pub home: Option<PathBuf>,
    /// `PATH`, where `podman` and `container` are looked for.
    pub path: Option<OsString>,
    /// The effective user id.
    pub uid: u32,
    /// The directory that the well-known sockets lie under: `/`, or a scratch one in tests.
    pub root: PathBuf,
}

impl Environment {
    /// Returns the socket that Docker listens on by default.
    fn docker_socket(&self) -> PathBuf {
        self.root.join("var/run/docker.sock")
    }

    /// Returns the files with contexts of clusters.
    fn kubeconfig(&self) -> Vec<PathBuf> {
        let named = self.kubeconfig.as_ref().map(std::env::split_paths);
        let named: Vec<_> = (named.into_iter().flatten())
            .filter(|file| !file.as_os_str().is_empty())
            .collect();
        match named.is_empty() {
            true => self
                .home
                .iter()
                .map(|home| home.join(".kube/config"))
                .collect(),
            false => named,
        }
    }

    /// Returns a program of the `PATH`; never one of a relative directory, which may be the
    /// project's.
    fn program(&self, name: &str) -> Option<PathBuf> {
        std::env::split_paths(self.path.as_ref()?)
            .filter(|directory| directory.is_absolute())
            .map(|directory| directory.join(name))
            .find(|program| is_program(program))
    }
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// An engine that answered.
#[derive(Debug, Clone)]
pub struct Detected {
    /// The engine.
    pub engine: Arc<dyn Engine>,
    /// What its probe said.
    pub info: EngineInfo,
    /// What decided for it.
    pub by: DecidedBy,
    /// Under which greeting it said so, where that was remembered and not asked now.
    pub remembered: Option<ServerVersion>,
}

/// What earlier probes have said. A probe of Podman's runs three programs.
pub trait InfoCache {
    /// Returns what an engine said that greeted so.
    fn recall(&self, server_version: &ServerVersion) -> Option<EngineInfo>;
    /// Keeps what an engine says that greets so. What can't be kept is asked again.
    fn keep(&self, server_version: &ServerVersion, info: &EngineInfo);
}

/// Remembers nothing.
struct Nothing;

impl InfoCache for Nothing {
    fn recall(&self, _: &ServerVersion) -> Option<EngineInfo> {
        None
    }
    fn keep(&self, _: &ServerVersion, _: &EngineInfo) {}
}

/// One location that was tried, for `doctor`.
#[derive(Debug)]
pub struct Candidate {
    /// Where: a URL, or a command.
    pub endpoint: String,
    /// Why it was tried, such as `DOCKER_HOST` or `the default Docker socket`.
    pub origin: String,
    /// What came of it.
    pub result: Result<EngineInfo, EngineError>,
}

/// Why there is no engine.
#[derive(Debug, thiserror::Error)]
pub enum DetectError {
    /// What was chosen can't be used.
    #[error("cannot use the engine that {by} names")]
    Chosen {
        /// What chose it.
        by: DecidedBy,
        /// Every location that was tried, in order.
        tried: Vec<Candidate>,
    },
    /// Nothing was chosen, and nothing of what was tried answered.
    #[error("no container engine answers")]
    None {
        /// Every location that was tried, in order.
        tried: Vec<Candidate>,
    },
}

impl DetectError {
    fn new(by: DecidedBy, tried: Vec<Candidate>) -> Self {
        match by {
            DecidedBy::Detected => Self::None { tried },
            by => Self::Chosen { by, tried },
        }
    }
}

/// Every location that was tried, and what decided for them.
#[derive(Debug)]
pub struct Candidates {
    /// What decided.
    pub by: DecidedBy,
    /// The locations, in order.
    pub tried: Vec<Candidate>,
}

/// Returns the first engine that answers and is of the kind asked for.
///
/// Each location has five seconds to give a first answer.
///
/// # Errors
/// When none does; the error holds every location that was tried and why it did not serve.
pub fn detect(request: &EngineRequest, environment: &Environment) -> Result<Detected, DetectError> {
    detect_cached(request, environment, &Nothing)
}

/// As [`detect`], but asks an engine that is slow to say what it is only when `cache` does
/// not know it. A caller of it must prove what matters (P12), and ask again in time.
///
/// # Errors
/// As [`detect`].
pub fn detect_cached(
    request: &EngineRequest,
    environment: &Environment,
    cache: &dyn InfoCache,
) -> Result<Detected, DetectError> {
    let Search { by, locations } = search(request, environment);
    let mut tried = Vec::new();
    for location in locations {
        match location.open(&by, cache) {
            Ok(detected) => return Ok(detected),
            Err(error) => tried.push(location.candidate(Err(error))),
        }
    }
    Err(DetectError::new(by, tried))
}

/// Returns every engine that answers and is of the kind asked for, each once.
///
/// A private service is started only where no socket of Podman's answers.
///
/// # Errors
/// As [`detect`].
pub fn detect_all(
    request: &EngineRequest,
    environment: &Environment,
) -> Result<Vec<Detected>, DetectError> {
    let Search { by, locations } = search(request, environment);
    let (mut found, mut tried): (Vec<Detected>, Vec<Candidate>) = (Vec::new(), Vec::new());
    for location in locations {
        let podman_answers = found.iter().any(|one| one.info.kind == EngineKind::Podman);
        if podman_answers && matches!(location.connector, Connector::Service(_)) {
            continue;
        }
        match location.open(&by, &Nothing) {
            Ok(detected) => {
                let is_new = |one: &Detected| one.info.endpoint != detected.info.endpoint;
                if found.iter().all(is_new) {
                    found.push(detected);
                }
            }
            Err(error) => tried.push(location.candidate(Err(error))),
        }
    }
    match found.is_empty() {
        true => Err(DetectError::new(by, tried)),
        false => Ok(found),
    }
}

/// Tries every location, the ones after a success too. A private service is started only
/// where no socket of Podman's answers.
pub fn candidates(request: &EngineRequest, environment: &Environment) -> Candidates {
    let Search { by, locations } = search(request, environment);
    let mut tried: Vec<Candidate> = Vec::new();
    for location in locations {
        let podman_answers = tried.iter().any(
            |candidate| matches!(&candidate.result, Ok(info) if info.kind == EngineKind::Podman),
        );
        if podman_answers && matches!(location.connector, Connector::Service(_)) {
            continue;
        }
        let result = location.open(&by, &Nothing).map(|detected| detected.info);
        tried.push(location.candidate(result));
    }
    Candidates { by, tried }
}

impl EngineLocation {
    fn open(&self, by: &DecidedBy, cache: &dyn InfoCache) -> Result<Detected, EngineError> {
        let engine: Arc<dyn Engine> = match &self.connector {
            Connector::Api(Ok(endpoint)) => Arc::new(ApiEngine::new(endpoint.clone())?),
            Connector::Api(Err(error)) => return Err(error.clone().into()),
            Connector::Service(program) => {
                let service = PodmanService::start(program)?;
                let endpoint = service.endpoint();
                Arc::new(ApiEngine::with_keeper(endpoint, Some(Box::new(service)))?)
            }
            Connector::Command(program) => Arc::new(AppleEngine::new(program.clone())),
            Connector::Cluster(address) => Arc::new(KubernetesEngine::new(address.clone())?),
        };
        let server_version = match self.connector {
            Connector::Api(_) => engine.server_version()?,
            // It is gone with this process, or has no greeting.
            Connector::Service(_) | Connector::Command(_) | Connector::Cluster(_) => None,
        };
        let recalled = server_version
            .as_ref()
            .and_then(|known| cache.recall(known));
        let (info, remembered) = match (recalled, server_version) {
            (Some(info), server_version) => (info, server_version),
            (None, server_version) => {
                let info = engine.probe()?;
                if let Some(server_version) = server_version {
                    cache.keep(&server_version, &info);
                }
                (info, None)
            }
        };
        match self.requirement {
            Requirement::Any => {}
            Requirement::Kind(kind) if info.kind == kind => {}
            Requirement::Rootless if info.kind == EngineKind::Podman && info.rootless => {}
            Requirement::Kind(_) | Requirement::Rootless => {
                return Err(EngineError::WrongKind {
                    endpoint: self.endpoint(),
                    found: match info.rootless {
                        true => format!("rootless {:?}", info.kind),
                        false => format!("{:?}", info.kind),
                    },
                });
            }
        }
        Ok(Detected {
            engine,
            info,
            by: by.clone(),
            remembered,
        })
    }

    fn endpoint(&self) -> String {
        match &self.connector {
            Connector::Api(Ok(endpoint)) => endpoint.to_string(),
            Connector::Api(Err(error)) => error.text().to_owned(),
            Connector::Service(program) => format!("{} system service", program.display()),
            Connector::Command(program) => program.display().to_string(),
            Connector::Cluster(address) => address.to_string(),
        }
    }

    fn candidate(&self, result: Result<EngineInfo, EngineError>) -> Candidate {
        Candidate {
            endpoint: self.endpoint(),
            origin: self.origin.clone(),
            result,
        }
    }
}
