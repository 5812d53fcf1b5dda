//! Steps before a command, such as the migrations of a database.
//!
//! A step runs in the command's container or in that of a service, once the services are ready and
//! before the command. It is held as the command is. A step that has run is not repeated in that
//! session, unless what it made may be gone: [`done`] says when. A step that fails keeps the
//! command from starting.

mod disk;
mod done;
mod run;

use std::time::Duration;

use lazaret_runtime::{EngineError, ServiceName};
use lazaret_tree::PathError;

use crate::cancel::Interrupted;
use crate::lifecycle::disk_limits::DiskExcess;

pub(crate) use self::run::{CopyAge, StepRunner};

/// One step, as a profile asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupStep {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Where it runs.
    pub place: StepPlace,
    /// How often.
    pub repeat: Repeat,
    /// How long it may take.
    pub within: Duration,
}

/// Where a step runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepPlace {
    /// In the command's container, in its directory and with its variables.
    Command,
    /// In the container of this service, with its variables.
    Service(ServiceName),
}

/// How often a step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Once in a session.
    Once,
    /// Before each command.
    Always,
}

impl StepPlace {
    /// Returns it as a profile names it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Command => "command",
            Self::Service(name) => name.as_str(),
        }
    }
}

/// Why the command does not start after its setup.
#[derive(Debug, thiserror::Error)]
pub enum SetupStepError {
    /// The user wants an end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// A step runs in a service that the session does not have.
    #[error("setup step {number} is to run in service {service}, and there is none")]
    NoService {
        /// The number of the step, from 1.
        number: usize,
        /// The service.
        service: ServiceName,
    },
    /// A step ended with another exit code than 0.
    #[error("setup step {number} ended with exit code {code}")]
    Failed {
        /// The number of the step, from 1.
        number: usize,
        /// What ran.
        argv: Vec<String>,
        /// How it ended.
        code: i32,
        /// The end of its log.
        log: Vec<String>,
    },
    /// A step took longer than it may.
    #[error("setup step {number} took longer than {} s", .within.as_secs())]
    TookTooLong {
        /// The number of the step, from 1.
        number: usize,
        /// What ran.
        argv: Vec<String>,
        /// How long it had.
        within: Duration,
        /// The end of its log.
        log: Vec<String>,
    },
    /// The session holds more than it may: the step that ran was ended.
    #[error("setup step {number} was ended: the session holds more than its limits allow")]
    DiskFull {
        /// The number of the step, from 1.
        number: usize,
        /// What ran.
        argv: Vec<String>,
        /// What is too much.
        excess: DiskExcess,
    },
}
