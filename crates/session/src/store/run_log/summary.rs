//! `RunSummary`: what a run was, beside its log: `runs/<n>/run.json`.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use lazaret_runtime::Access;
use lazaret_tree::{AtPath as _, PathError};
use serde::{Deserialize, Serialize};

use super::{RunDir, run_dir, runs};
use crate::audit::event::AuditEvent;
use crate::context::WORKSPACE;
use crate::engine::containers::HomeStorage;
use crate::spec::RunSpec;
use crate::store::SessionDir;
use crate::store::file::{ok_if_absent, write_atomically};
use crate::store::record::{CommandEnd, NetworkSummary};

const FILE: &str = "run.json";

/// What a run was. No value of a variable is in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Its number, from 1.
    pub run: u32,
    /// When its command started, in seconds since 1970.
    pub started: u64,
    /// The profile.
    pub profile: String,
    /// The command, program first.
    pub command: Vec<String>,
    /// The image of its container, with its digest.
    pub image: String,
    /// Volumes of its container.
    pub mounts: Vec<MountSummary>,
    /// The services beside it.
    pub services: Vec<String>,
    /// Limits of its container.
    pub limits: LimitSummary,
    /// Bytes that it was sent on stdin; `None` if it reads none, or has a terminal.
    pub input_bytes: Option<u64>,
    /// How it ended; `None` while it runs, or if that is not known.
    pub end: Option<CommandEnd>,
    /// Its network; `None` if it had none.
    pub network: Option<NetworkSummary>,
}

/// A volume of the container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountSummary {
    /// Where it was mounted.
    pub target: String,
    /// Whether the command could only read it.
    pub read_only: bool,
}

/// Limits of the container.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitSummary {
    /// Bytes of memory.
    pub memory: u64,
    /// Cores.
    pub cpus: f64,
    /// Processes and threads.
    pub pids: u32,
    /// Milliseconds until SIGTERM; `None` for ever.
    pub timeout_ms: Option<u64>,
}

impl RunSummary {
    /// Describes a run whose command is about to start.
    pub(crate) fn begin(spec: &RunSpec<'_>, run: u32) -> Self {
        let plan = spec.container_plan();
        let writable = |target: &str| MountSummary {
            target: target.to_owned(),
            read_only: false,
        };
        let mut mounts = vec![writable(WORKSPACE)];
        if plan.home == HomeStorage::Volume {
            mounts.push(writable(lazaret_runtime::AGENT_HOME));
        }
        mounts.extend(plan.mounts.iter().map(|mount| MountSummary {
            target: mount.target.clone(),
            read_only: mount.access() == Access::ReadOnly,
        }));
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self {
            run,
            started: now.map_or(0, |now| now.as_secs()),
            profile: spec.profile.clone(),
            command: spec.command.argv.clone(),
            image: spec.image.reference().to_string(),
            mounts,
            services: plan.services.iter().map(ToString::to_string).collect(),
            limits: LimitSummary {
                memory: spec.limits.memory,
                cpus: spec.limits.cpus,
                pids: spec.limits.pids,
                timeout_ms: spec.command.limits.timeout.map(milliseconds),
            },
            input_bytes: None,
            end: None,
            network: None,
        }
    }

    /// Returns what the audit log says of its start.
    pub(crate) fn audited(&self, spec: &RunSpec<'_>) -> AuditEvent {
        AuditEvent::Run {
            run: self.run,
            profile: self.profile.clone(),
            command: self.command.clone(),
            image: self.image.clone(),
            network: spec.network.as_ref().map(|plan| plan.order.policy.mode),
        }
    }

    /// Writes it beside the log.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn write(&self, dir: &RunDir) -> Result<(), PathError> {
        let path = dir.path.join(FILE);
        let text = serde_json::to_vec(self)
            .map_err(std::io::Error::from)
            .at(&path)?;
        write_atomically(&path, &text)
    }

    /// Lists the runs of a session, the oldest first. One without a summary, of an older version or
    /// cut short by a full disk, is left out.
    ///
    /// # Errors
    /// The disk's.
    pub fn list(dir: &SessionDir) -> Result<Vec<Self>, PathError> {
        let mut all = Vec::new();
        for run in runs(dir)? {
            all.extend(read(&run_dir(dir, run))?);
        }
        Ok(all)
    }
}

fn read(dir: &Path) -> Result<Option<RunSummary>, PathError> {
    let path = dir.join(FILE);
    let bytes = ok_if_absent(fs::read(&path)).at(&path)?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
