//! Finds an engine: which one was asked for, where it may listen, which one answers.
//!
//! The order without a choice: `LAZARET_ENGINE`; `DOCKER_HOST`, the Docker context,
//! the default Docker sockets; `CONTAINER_HOST`, the Podman sockets (rootful, then the
//! user's), a private `podman system service`; Apple `container`.

mod choice;

pub use choice::{ChoiceError, Endpoint, EngineChoice, NamedEngine};

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{Engine, EngineError, EngineInfo};

/// What detection reads of the process's environment. Filled once, in `main`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// `LAZARET_ENGINE`.
    pub lazaret_engine: Option<String>,
    /// `DOCKER_HOST`.
    pub docker_host: Option<String>,
    /// `DOCKER_CONTEXT`.
    pub docker_context: Option<String>,
    /// `DOCKER_CONFIG`: the directory used instead of `~/.docker`.
    pub docker_config: Option<PathBuf>,
    /// `CONTAINER_HOST`.
    pub container_host: Option<String>,
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

/// An engine that answered.
#[derive(Debug, Clone)]
pub struct Detected {
    /// The engine.
    pub engine: Arc<dyn Engine>,
    /// What its probe said.
    pub info: EngineInfo,
}

/// One place that was tried, for `doctor`.
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
    /// What was asked for makes no sense.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// Nothing of what was tried answered.
    #[error("no container engine answers")]
    None {
        /// Every place that was tried, in order.
        tried: Vec<Candidate>,
    },
}

/// Returns the first engine that answers and is of the kind asked for.
///
/// # Errors
/// When none does; the error holds every place that was tried and why it did not serve.
pub fn detect(choice: &EngineChoice, environment: &Environment) -> Result<Detected, DetectError> {
    let _ = (choice, environment);
    Err(DetectError::None { tried: Vec::new() })
}

/// Tries every place, the ones after a success too.
///
/// # Errors
/// When the environment names an engine that makes no sense.
pub fn candidates(
    choice: &EngineChoice,
    environment: &Environment,
) -> Result<Vec<Candidate>, DetectError> {
    let _ = (choice, environment);
    Ok(Vec::new())
}
