//! `RunSpec`: what a caller asks of a run, made before an engine is asked for anything.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use lazaret_gate::ignored::IgnoredFiles;
use lazaret_image_builder::Pinned;
use lazaret_protocol::verb::CommandStdin;
use lazaret_runtime::{EnvName, Limits, ServiceName, SessionId};
use lazaret_transfer::{FileSelector, WorkspaceDir};
use lazaret_tree::RelPathBuf;

use crate::commits::history_source::HistorySource;
use crate::context::SessionContext;
use crate::credentials::file::CredentialFile;
use crate::engine::containers::{ContainerPlan, HomeStorage};
use crate::engine::counted::CountedVolumes;
use crate::engine::owner::ResourceOwner;
use crate::home::HomeSpec;
use crate::network::Plan;
use crate::services::Service;
use crate::setup_steps::SetupStep;
use crate::store::record::{
    GateLimits, KeepVolume, NetworkSummary, NewRecord, SelectionRecord, WriteScope, identity,
};
use crate::volumes::Volume;

/// A run, as it is asked for. No step of the lifecycle changes it.
#[derive(Debug)]
pub struct RunSpec<'a> {
    /// The session's name.
    pub id: SessionId,
    /// The profile's name.
    pub profile: String,
    /// The workspace, to which changes are applied.
    pub workspace: &'a WorkspaceDir,
    /// Where the copy comes from, and what of it goes in.
    pub source: Source<'a>,
    /// The same, for the record.
    pub selection: SelectionRecord,
    /// What of the copy the command may change.
    pub scope: WriteScope,
    /// Where the command leaves the text of a pull request, from the workspace's root.
    pub pr_file: Option<RelPathBuf>,
    /// The command.
    pub command: CommandSpec,
    /// The image of its container.
    pub image: Pinned,
    /// The image of every other container of the session.
    pub porter: Pinned,
    /// Limits of the command's container.
    pub limits: Limits,
    /// The command's network.
    pub network: Option<Plan>,
    /// Servers beside the command.
    pub services: Vec<Service>,
    /// What runs before the command, in this order.
    pub setup: Vec<SetupStep>,
    /// The home that is kept; `None` if it is in memory, and goes with the container.
    pub home: Option<HomeSpec>,
    /// Volumes of the command beside that of the workspace.
    pub volumes: Vec<Volume>,
    /// Logins for the home of the command's container.
    pub credentials: Arc<[CredentialFile]>,
    /// What the gate holds the collection to.
    pub gate: GateLimits,
    /// What becomes of new files that git ignores.
    pub ignored: IgnoredFiles,
    /// Whether the volume outlives the gate.
    pub keep: KeepVolume,
    /// What is kept of the run beside what it prints.
    pub log: LogLevel,
}

/// What is kept of a run beside what it prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// What it was: its command, image, limits and end.
    Info,
    /// Also what it is sent on stdin.
    Debug,
}

/// What goes in.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The directory that is read: the workspace, or a clean clone of its repository.
    pub dir: &'a WorkspaceDir,
    /// What of it.
    pub selector: &'a FileSelector,
    /// By what its history goes into a copy that keeps its own repository; `None` if there is no
    /// git.
    pub history: Option<&'a HistorySource>,
}

/// What is started in the container.
#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// Program first.
    pub argv: Vec<String>,
    /// Variables beside those of the image.
    pub env: BTreeMap<EnvName, String>,
    /// Whether it has the user's terminal.
    pub terminal: TerminalMode,
    /// What it reads, if it has none.
    pub stdin: CommandStdin,
    /// How long it may take.
    pub limits: CommandLimits,
}

/// Whether a command has a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalMode {
    /// The user's: keys go in, and both streams are one.
    Interactive,
    /// None: see [`CommandSpec::stdin`].
    None,
}

/// How long a command may take.
#[derive(Debug, Clone, Copy)]
pub struct CommandLimits {
    /// Until SIGTERM; `None` for ever. Measured on the monotonic clock (FLT-23), pauses
    /// included. PID 1 keeps the same limit, two seconds later (FLT-27).
    pub timeout: Option<Duration>,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
}

impl RunSpec<'_> {
    /// Returns what the engine fixes when it makes the command's container.
    pub fn container_plan(&self) -> ContainerPlan {
        ContainerPlan {
            profile: self.profile.clone(),
            image: self.image.clone(),
            porter: self.porter.clone(),
            limits: self.limits.clone(),
            policy: (self.network.as_ref()).map(|plan| plan.order.policy.clone()),
            services: self.service_names(),
            home: match self.home {
                Some(_) => HomeStorage::Volume,
                None => HomeStorage::Memory,
            },
            mounts: self.volumes.iter().map(Volume::mount).collect(),
        }
    }

    /// Returns what counts for the disk limits beside the copy of the workspace.
    pub(crate) fn counted_volumes(&self, owner: &ResourceOwner) -> CountedVolumes {
        let home = self.home.as_ref().map(|_| owner.home_volume());
        let mounts: Vec<_> = self.volumes.iter().map(Volume::mount).collect();
        let services = self.services.iter();
        let with_data = services.filter(|service| service.data.is_some());
        let with_data = with_data.map(|service| &service.name);
        CountedVolumes::of(owner, home, &mounts, with_data)
    }

    fn service_names(&self) -> Vec<ServiceName> {
        let names = self.services.iter().map(|service| &service.name);
        names.cloned().collect()
    }

    /// Returns what the session's record starts from.
    pub(crate) fn record(&self, cx: &SessionContext<'_>) -> NewRecord {
        let workspace = self.workspace;
        NewRecord {
            id: self.id.clone(),
            store: cx.store_id.clone(),
            workspace: workspace.path().to_path_buf(),
            workspace_identity: identity(workspace.identity()),
            profile: self.profile.clone(),
            command: self.command.argv.clone(),
            engine: cx.info.endpoint.clone(),
            image: self.image.reference().to_string(),
            gate: self.gate,
            ignored: self.ignored,
            keep: self.keep,
            selection: self.selection.clone(),
            bounds: self.scope.clone(),
            pr_file: self.pr_file.clone(),
            egress: self.network.as_ref().map(|plan| NetworkSummary {
                mode: plan.order.policy.mode,
                totals: None,
                gateway_lost: false,
            }),
            services: self.service_names(),
        }
    }
}
