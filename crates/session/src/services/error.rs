//! Why a service does not run.

use std::time::Duration;

use lazaret_runtime::{EngineError, ServiceName, Unenforceable};
use lazaret_tree::PathError;

use crate::cancel::Interrupted;
use crate::engine::lasting_volume::LastingVolumeError;
use crate::lifecycle::verify::VerifyError;
use crate::porter::conversation::PorterError;

/// Why a service does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The user wants an end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine can't enforce a control, or can't join networks.
    #[error(transparent)]
    Unenforceable(#[from] Unenforceable),
    /// Its volume is not there.
    #[error(transparent)]
    Volume(#[from] LastingVolumeError),
    /// A control of its container is not in force.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The porter failed.
    #[error(transparent)]
    Porter(#[from] PorterError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// A thread panicked.
    #[error("starting a service panicked")]
    Panicked,
    /// Its container is in another network than the command's.
    #[error("service {name} is not in the network of the command: it may not start")]
    OtherNetwork {
        /// The service.
        name: ServiceName,
    },
    /// Its process ended first.
    #[error("service {name} ended with exit code {code} before it was ready")]
    Ended {
        /// The service.
        name: ServiceName,
        /// How it ended.
        code: i32,
        /// The end of its log.
        log: Vec<String>,
    },
    /// Its time was up.
    #[error("service {name} is not ready after {} s", .within.as_secs())]
    NotReady {
        /// The service.
        name: ServiceName,
        /// How long it had.
        within: Duration,
        /// The end of its log.
        log: Vec<String>,
    },
}

impl ServiceError {
    /// Returns the end of the service's log, if that says why.
    pub fn log(&self) -> &[String] {
        match self {
            Self::Ended { log, .. } | Self::NotReady { log, .. } => log,
            _ => &[],
        }
    }
}
