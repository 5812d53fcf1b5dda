//! Where services are, for reports and events.

use lazaret_runtime::ServiceName;
use serde::{Deserialize, Serialize};

use super::Need;

/// Where a service is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServiceState {
    /// It was started and is not ready.
    Starting,
    /// It is ready.
    Ready,
    /// It died, and is started again in some seconds.
    Waiting,
    /// It died too often, and is started again only when a user asks for it.
    Down,
    /// It is stopped, with its session.
    Stopped,
}

impl ServiceState {
    /// Returns it as one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Waiting => "waiting",
            Self::Down => "down",
            Self::Stopped => "stopped",
        }
    }
}

/// A service, for reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceStatus {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub state: ServiceState,
    /// How often it was started again since its session started.
    pub restarts: u32,
}

impl ServiceStatus {
    /// Returns a service of a session that is at rest.
    pub fn stopped(name: &ServiceName) -> Self {
        Self {
            name: name.to_string(),
            state: ServiceState::Stopped,
            restarts: 0,
        }
    }
}

/// A service is somewhere else than it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceChange {
    /// Its name.
    pub name: String,
    /// Where it is now.
    pub state: ServiceState,
    /// How it ended, if it did.
    pub exit_code: Option<i32>,
    /// What becomes of its session if it is down.
    pub need: Need,
}
