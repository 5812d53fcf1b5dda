//! `EngineError`: what went wrong at an engine.

use std::io;
use std::time::Duration;

use crate::{ClusterError, ContainerName};

/// What went wrong at an engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No answer within the time limit.
    #[error("{endpoint} did not answer within {after:?}")]
    Timeout {
        /// Where it was tried.
        endpoint: String,
        /// How long.
        after: Duration,
    },
    /// Nothing listens there.
    #[error("no engine answers at {endpoint}: {source}")]
    Unreachable {
        /// Where it was tried.
        endpoint: String,
        /// The cause.
        source: io::Error,
    },
    /// A Kubernetes cluster refused or lost something.
    #[error(transparent)]
    Cluster(Box<ClusterError>),
    /// What was chosen names no engine that can be reached.
    #[error(transparent)]
    Choice(#[from] crate::ChoiceError),
    /// The socket is there, but not for us.
    #[error("no permission to use {endpoint}: {source}")]
    Denied {
        /// Where it was tried.
        endpoint: String,
        /// The cause.
        source: io::Error,
    },
    /// What answers is not what was asked for.
    #[error("{endpoint} is {found}, not what was asked for")]
    WrongKind {
        /// Where.
        endpoint: String,
        /// What answers there.
        found: String,
    },
    /// The engine is too old.
    #[error("{endpoint} speaks {found}, lazaret needs {needed} or newer")]
    TooOld {
        /// Where.
        endpoint: String,
        /// What it speaks, such as `API 1.40`.
        found: String,
        /// What is needed.
        needed: &'static str,
    },
    /// The thing named does not exist.
    #[error("no such {what}: {name}")]
    NotFound {
        /// `container`, `volume`, `image`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The name is taken.
    #[error("a {what} named {name} exists already")]
    AlreadyExists {
        /// `container`, `volume`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// Still in use.
    #[error("{what} {name} is in use")]
    InUse {
        /// `volume`, `image`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The image declares a volume of its own (CON-25).
    #[error("image {image} declares a volume at {target}; the engine would mount an anonymous one")]
    SurpriseVolume {
        /// The image.
        image: String,
        /// The path inside.
        target: String,
    },
    /// This engine, reached this way, can't do that.
    #[error("{verb}: {reason}")]
    Unsupported {
        /// What was asked.
        verb: &'static str,
        /// Why not.
        reason: &'static str,
    },
    /// PID 1 of a container, which starts its processes, did not start one.
    #[error("cannot start a process in {container}: {cause}")]
    NotStarted {
        /// The container.
        container: ContainerName,
        /// Why not.
        cause: String,
    },
    /// The engine said no. The message is the engine's own and not to be trusted on a terminal.
    #[error("{verb}: the engine refused: {message}")]
    Refused {
        /// What was asked, such as `create container`.
        verb: &'static str,
        /// Its HTTP status or exit code.
        status: u16,
        /// Its words.
        message: String,
    },
    /// The connection broke, or its answer could not be understood.
    #[error("{verb}: lost the engine: {message}")]
    Lost {
        /// What was asked.
        verb: &'static str,
        /// What is known.
        message: String,
    },
    /// Our own side of a stream failed; the producer's cause.
    #[error("{verb}: {source}")]
    Stream {
        /// What was asked.
        verb: &'static str,
        /// The cause.
        source: io::Error,
    },
}

impl EngineError {
    /// Wraps what a cluster refused.
    pub(crate) fn cluster(error: ClusterError) -> Self {
        Self::Cluster(Box::new(error))
    }

    /// Returns whether a cluster forbids what was asked.
    pub(crate) fn is_forbidden(&self) -> bool {
        matches!(self, Self::Cluster(error) if matches!(**error, ClusterError::Forbidden { .. }))
    }
}
