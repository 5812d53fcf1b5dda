//! `Profile`: what to run, on which image, within which limits, and how strict the gate is.
//!
//! A TOML file becomes a [`raw::RawProfile`] (what is written there), then a [`Profile`]
//! (what it means). Every error names file, line and column.

mod ask;
mod cache;
mod extends;
mod files;
mod gate;
mod group;
mod home;
mod limits;
mod lookup;
mod network;
mod notify;
pub(crate) mod pass;
mod project;
mod projects;
mod raw;
mod resolve;
mod schema;
mod secrets;
mod services;
mod session;
mod setup;
mod show;
mod source;
#[cfg(test)]
mod tests;
mod tighten;
pub mod units;
mod values;
mod volumes;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use lazaret_gate::ignored::IgnoredFiles;
use lazaret_runtime::EnvName;
use lazaret_tree::RelPathBuf;

pub use ask::{AskMode, AskRules};
pub use cache::Cache;
pub use files::FileRule;
pub use group::{GroupLimits, GroupNetwork};
pub use home::{HomeKeep, HomeRules};
pub use lookup::{Listed, list, load, read_unlinked};
pub(crate) use lookup::{checked, is_plain, own_file, read as read_user_file};
pub use network::{NetworkMode, NetworkRules, Publish};
pub use notify::{NoticeKind, NotifyRules};
pub use project::ProjectSettings;
pub(crate) use projects::profile_for;
pub use schema::schema;
pub use secrets::{BrokerRule, SecretRule, SecretSource};
pub use services::{ServiceKeep, ServiceRule};
pub use session::{AttachRules, SessionRules};
pub use setup::{SetupRepeat, SetupRule};
pub use source::{ProfileError, Source};
pub use tighten::{Tightened, WORKSPACE_FILE};
pub use volumes::{SharedAccess, VolumeRule, VolumeScope};

/// What to run, on which image, within which limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// The name it was found by, or the stem of its file.
    pub name: String,
    /// Where it came from.
    pub origin: Origin,
    /// What it is for, in a few words.
    pub description: String,
    /// The name of a shipped image.
    pub image: String,
    /// The command, program first; empty when `run` must be given one.
    pub command: Vec<String>,
    /// Variables for the command.
    pub env: BTreeMap<EnvName, String>,
    /// Names, and beginnings of names, of the user's variables that the command sees.
    pub env_pass: Vec<String>,
    /// What follows the command when it is given a task: `{}` stands for the task. Empty when
    /// it takes none.
    pub prompt: Vec<String>,
    /// Whether its command is one that a person works with at a terminal.
    pub terminal: bool,
    /// The program that speaks the Agent Client Protocol, and its arguments; empty if there is none.
    pub acp: Vec<String>,
    /// What goes in.
    pub workspace: WorkspaceRules,
    /// Resources.
    pub limits: LimitRules,
    /// How a session goes on by itself.
    pub session: SessionRules,
    /// How a terminal that is attached speaks to lazaret.
    pub attach: AttachRules,
    /// How its command is asked.
    pub ask: AskRules,
    /// What the keeper runs on the host when something happens.
    pub notify: Option<NotifyRules>,
    /// What the command may reach.
    pub network: NetworkRules,
    /// Keys that the command never has.
    pub secrets: Vec<SecretRule>,
    /// Logins that the session is lent.
    pub files: Vec<FileRule>,
    /// The home of the command.
    pub home: HomeRules,
    /// Directories of the command that outlive it.
    pub volumes: Vec<VolumeRule>,
    /// Servers beside the command, by name.
    pub services: Vec<ServiceRule>,
    /// What runs before the command, in this order.
    pub setup: Vec<SetupRule>,
    /// What may come back.
    pub gate: GateRules,
    /// How commits become a pull request.
    pub pr: PrRules,
}

/// Where a profile came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// `profiles/` of this repository, built into the program.
    BuiltIn,
    /// A file.
    File(PathBuf),
}

/// `[workspace]`: what goes in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceRules {
    /// What of `.git` goes in.
    pub git: GitChoice,
    /// Patterns, in the syntax of `.gitignore`, that stay out.
    pub exclude: Vec<String>,
    /// Paths that the command may only read, with all below them; without a `/` at the end.
    pub protect: Vec<String>,
    /// How much of the project the workspace lies in goes in with it.
    pub isolation: Isolation,
    /// Paths from the project's root that go in with the workspace, to be read only.
    pub share: Vec<String>,
    /// The way up to the project's root, where it is no repository: `..`, `../..`.
    pub project: Option<String>,
}

/// How much of a project goes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// The workspace.
    Workspace,
    /// The whole project; the command starts in the workspace.
    Project,
}

/// What of `.git` goes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GitChoice {
    /// Nothing.
    None,
    /// The commit that is checked out, and the index, scrubbed.
    Shallow,
    /// The whole history, scrubbed.
    Full,
}

/// `[limits]`: resources.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitRules {
    /// Bytes of memory.
    pub memory: u64,
    /// Cores.
    pub cpus: f64,
    /// Processes and threads.
    pub pids: u32,
    /// Bytes of `/tmp`.
    pub tmp: u64,
    /// Time for the command.
    pub timeout: Duration,
    /// How long a kept session may do nothing.
    pub idle: Duration,
    /// How long a kept session may last.
    pub life: Duration,
    /// Bytes that the session's volume may hold.
    pub disk: u64,
    /// Files, directories and everything else that it may hold.
    pub inodes: u32,
}

/// `[gate]`: what may come back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRules {
    /// What to do with changes that no rule blocks.
    pub apply: ApplyMode,
    /// What becomes of new files that git ignores.
    pub ignored: IgnoredFiles,
    /// The most entries that may come back.
    pub max_entries: u32,
    /// The most bytes that may come back.
    pub max_bytes: u64,
    /// The most bytes of one file.
    pub max_file_bytes: u64,
}

/// `[pr]`: how commits become a pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PrRules {
    /// Where the command leaves the text of the request, from the workspace's root.
    pub file: Option<RelPathBuf>,
}

/// What to do with changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum ApplyMode {
    /// Keep them for a later `apply`.
    Never,
    /// Show them and ask.
    Ask,
    /// Apply a batch in which nothing was found.
    Auto,
}
