//! `RawProfile`: the TOML of a profile as it is written, with the place of every value.
//!
//! The whole schema is read, so that a profile written for a later version is
//! understood and what this version can't do is refused by name.

use std::collections::BTreeMap;

use lazaret_gate::ignored::IgnoredFiles;
use lazaret_image_builder::{DataPath, Readiness, StopSignal};
use serde::Deserialize;
use toml::Spanned;

use super::cache::Cache;
use super::units::{ByteSize, Cores, Count, Span};

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProfile {
    pub(super) extends: Option<Spanned<String>>,
    pub(super) description: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) projects: Vec<Spanned<String>>,
    pub(super) image: Option<Spanned<String>>,
    pub(super) command: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    pub(super) env: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default)]
    pub(super) env_pass: Vec<Spanned<String>>,
    pub(super) prompt: Option<Spanned<Vec<String>>>,
    pub(super) terminal: Option<Spanned<bool>>,
    pub(super) acp: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    pub(super) workspace: RawWorkspace,
    #[serde(default)]
    pub(super) limits: RawLimits,
    #[serde(default)]
    pub(super) session: RawSession,
    #[serde(default)]
    pub(super) attach: RawAttach,
    #[serde(default)]
    pub(super) ask: RawAsk,
    pub(super) notify: Option<RawNotify>,
    #[serde(default)]
    pub(super) network: RawNetwork,
    #[serde(default)]
    pub(super) secrets: BTreeMap<Spanned<String>, RawSecret>,
    #[serde(default)]
    pub(super) files: BTreeMap<Spanned<String>, RawFile>,
    #[serde(default)]
    pub(super) volumes: Vec<Spanned<RawVolume>>,
    #[serde(default)]
    pub(super) home: RawHome,
    #[serde(default)]
    pub(super) services: BTreeMap<Spanned<String>, RawService>,
    #[serde(default)]
    pub(super) setup: Vec<Spanned<RawSetup>>,
    #[serde(default)]
    pub(super) gate: RawGate,
    #[serde(default)]
    pub(super) pr: RawPr,
}

/// `[workspace]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWorkspace {
    pub(super) target: Option<Spanned<String>>,
    pub(super) git: Option<Spanned<RawGit>>,
    #[serde(default)]
    pub(super) exclude: Vec<Spanned<String>>,
    pub(super) protect: Option<Spanned<Vec<String>>>,
    pub(super) isolation: Option<Spanned<RawIsolation>>,
    pub(super) share: Option<Spanned<Vec<String>>>,
    pub(super) project: Option<Spanned<String>>,
}

/// `workspace.git`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawGit {
    Full,
    Shallow,
    None,
}

/// `workspace.isolation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawIsolation {
    Workspace,
    Project,
}

/// `[limits]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLimits {
    pub(super) memory: Option<Spanned<ByteSize>>,
    pub(super) cpus: Option<Spanned<Cores>>,
    pub(super) pids: Option<Spanned<Count>>,
    pub(super) tmp: Option<Spanned<ByteSize>>,
    pub(super) timeout: Option<Spanned<Span>>,
    pub(super) idle: Option<Spanned<Span>>,
    pub(super) life: Option<Spanned<Span>>,
    pub(super) disk: Option<Spanned<ByteSize>>,
    pub(super) inodes: Option<Spanned<Count>>,
}

/// `[session]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSession {
    pub(super) stay: Option<Spanned<bool>>,
}

/// `[attach]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAttach {
    pub(super) prefix: Option<Spanned<String>>,
}

/// `[ask]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAsk {
    pub(super) mode: Option<Spanned<RawAskMode>>,
    pub(super) start: Option<Spanned<String>>,
    pub(super) end: Option<Spanned<String>>,
    pub(super) output: Option<Spanned<ByteSize>>,
    pub(super) spill: Option<Spanned<String>>,
    pub(super) idle: Option<Spanned<Span>>,
}

impl RawAsk {
    /// Returns the place of the first key that is set.
    pub(super) fn span(&self) -> Option<std::ops::Range<usize>> {
        let span = self.mode.as_ref().map(Spanned::span);
        span.or_else(|| self.start.as_ref().map(Spanned::span))
            .or_else(|| self.end.as_ref().map(Spanned::span))
            .or_else(|| self.output.as_ref().map(Spanned::span))
            .or_else(|| self.spill.as_ref().map(Spanned::span))
            .or_else(|| self.idle.as_ref().map(Spanned::span))
    }
}

/// `ask.mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawAskMode {
    Turn,
    Live,
}

/// `[notify]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNotify {
    pub(super) command: Spanned<Vec<String>>,
    pub(super) on: Option<Vec<RawNotice>>,
}

/// One of `notify.on`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawNotice {
    NeedsInput,
    RunEnded,
    Disk,
    Stopping,
    Ended,
}

/// `[network]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNetwork {
    pub(super) mode: Option<Spanned<RawNetworkMode>>,
    pub(super) allow: Option<Spanned<Vec<Spanned<String>>>>,
    pub(super) deny: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    pub(super) ports: Vec<Spanned<String>>,
}

/// `network.mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawNetworkMode {
    None,
    Allowlist,
    Open,
}

/// `[secrets.NAME]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSecret {
    pub(super) from: Spanned<RawSecretSource>,
    pub(super) env: Option<Spanned<String>>,
    pub(super) broker: Option<RawBroker>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSecretSource {
    pub(super) env: Option<String>,
    pub(super) file: Option<String>,
    pub(super) command: Option<Vec<String>>,
    pub(super) keychain: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBroker {
    pub(super) host: Spanned<String>,
    pub(super) header: Spanned<String>,
    pub(super) base_url_env: Option<Spanned<String>>,
    pub(super) scheme: Option<RawScheme>,
    #[serde(default)]
    pub(super) pass: Vec<Spanned<String>>,
}

/// `secrets.NAME.broker.scheme`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawScheme {
    Raw,
    Bearer,
}

/// `[files.NAME]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFile {
    pub(super) from: Spanned<String>,
    pub(super) to: Spanned<String>,
    pub(super) mode: Option<RawFileMode>,
}

/// `files.NAME.mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum RawFileMode {
    #[serde(rename = "0400")]
    ReadOnly,
    #[serde(rename = "0600")]
    Writable,
}

/// `[[volumes]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawVolume {
    pub(super) name: Option<String>,
    pub(super) cache: Option<Cache>,
    pub(super) target: Option<String>,
    pub(super) scope: Option<RawScope>,
    pub(super) access: Option<RawAccess>,
}

/// `volumes.scope`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawScope {
    Session,
    Shared,
}

/// `[home]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawHome {
    pub(super) keep: Option<Spanned<RawHomeKeep>>,
    pub(super) size: Option<Spanned<ByteSize>>,
    pub(super) seed: Option<Spanned<Vec<String>>>,
    pub(super) memory: Option<Spanned<Vec<String>>>,
}

/// `home.keep`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawHomeKeep {
    None,
    Session,
}

impl RawHome {
    /// Returns where its first key is.
    pub(super) fn span(&self) -> Option<std::ops::Range<usize>> {
        let lists = [&self.seed, &self.memory].map(|list| list.as_ref().map(Spanned::span));
        let keep = self.keep.as_ref().map(Spanned::span);
        let size = self.size.as_ref().map(Spanned::span);
        lists.into_iter().chain([keep, size]).flatten().next()
    }
}

/// `volumes.access`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawAccess {
    Copy,
    ReadOnly,
    ReadWrite,
}

/// `[services.NAME]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawService {
    pub(super) image: Spanned<String>,
    pub(super) command: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    pub(super) env: BTreeMap<Spanned<String>, Spanned<String>>,
    pub(super) data: Option<DataPath>,
    pub(super) ready: Option<Readiness>,
    pub(super) within: Option<Span>,
    pub(super) stop_signal: Option<StopSignal>,
    pub(super) memory: Option<Spanned<ByteSize>>,
    pub(super) cpus: Option<Cores>,
    pub(super) pids: Option<Spanned<Count>>,
    pub(super) keep: Option<RawServiceKeep>,
    #[serde(default)]
    pub(super) required: bool,
}

/// `services.NAME.keep`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawServiceKeep {
    Session,
    Run,
}

/// `[[setup]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSetup {
    pub(super) run: Spanned<Vec<String>>,
    #[serde(rename = "in")]
    pub(super) place: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) always: bool,
    pub(super) within: Option<Span>,
}

/// `[gate]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawGate {
    pub(super) apply: Option<Spanned<RawApply>>,
    pub(super) ignored: Option<Spanned<IgnoredFiles>>,
    pub(super) max_entries: Option<Spanned<Count>>,
    pub(super) max_bytes: Option<Spanned<ByteSize>>,
    pub(super) max_file_bytes: Option<Spanned<ByteSize>>,
}

/// `gate.apply`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawApply {
    Ask,
    Auto,
    Never,
}

/// `[pr]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPr {
    pub(super) file: Option<Spanned<String>>,
}
