//! `LiveContainer`: the container of a command that runs, for what clients want of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use lazaret_egress::Patterns;
use lazaret_protocol::Placement;
use lazaret_runtime::{
    Engine, EngineError, EnvName, ExecSpec, HardenedSpec, Process, Spawner, Stdin, Terminal,
    WhenAbandoned,
};

use crate::engine::signal::SIGKILL;
use crate::live::pause::Pauses;
use crate::network::LivePolicy;
use crate::services::Services;

/// What it takes to start a process beside the command, and what else belongs to it.
#[derive(Debug, Clone)]
pub struct LiveContainer {
    /// The engine.
    pub engine: Arc<dyn Engine>,
    /// Starts processes in it.
    pub spawner: Arc<Spawner>,
    /// What it may do.
    pub agent: HardenedSpec,
    /// Where its controls were proven: a process that comes later starts there only (CON-27).
    pub placement: Placement,
    /// Variables of the command.
    pub env: BTreeMap<EnvName, String>,
    /// Where the command starts.
    pub workdir: String,
    /// What may not be printed.
    pub patterns: Option<Patterns>,
    /// Its pauses.
    pub pauses: Arc<Pauses>,
    /// What it may reach; `None` without a network.
    pub policy: Option<Arc<LivePolicy>>,
    /// Its services.
    pub services: Services,
}

/// A process beside the command.
#[derive(Debug)]
pub(super) struct Beside {
    pub(super) argv: Vec<String>,
    /// Beside those of the command.
    pub(super) env: BTreeMap<EnvName, String>,
    pub(super) workdir: Option<String>,
    pub(super) stdin: Stdin,
    pub(super) terminal: Terminal,
    pub(super) when_abandoned: WhenAbandoned,
}

impl LiveContainer {
    /// Starts a process that is held as the command is.
    pub(super) fn spawn(&self, beside: Beside) -> Result<Process, EngineError> {
        let mut env = self.env.clone();
        env.extend(beside.env);
        let argv = self.agent.exec_argv(self.placement, &beside.argv, None);
        self.spawner.spawn(&ExecSpec {
            argv,
            env,
            workdir: Some(beside.workdir.unwrap_or_else(|| self.workdir.clone())),
            stdin: beside.stdin,
            terminal: beside.terminal,
            when_abandoned: beside.when_abandoned,
        })
    }

    /// Kills every process in it.
    pub(super) fn kill(&self) -> Result<(), EngineError> {
        self.engine
            .signal_container(&self.agent.spec().name, SIGKILL)
    }
}
