//! A profile as it takes effect, for people (TOML) and programs (JSON).

use std::collections::BTreeMap;

use lazaret_egress::Scheme;
use lazaret_image_builder::{DataPath, Readiness, StopSignal};
use lazaret_protocol::CredentialMode;
use lazaret_runtime::EnvName;
use lazaret_tree::RelPathBuf;
use serde::Serialize;

use super::ask::AskRules;
use super::units::{ByteSize, Span};
use super::{
    ApplyMode, Cache, FileRule, GitChoice, HomeRules, Isolation, Profile, SecretRule, SecretSource,
    ServiceRule, SetupRepeat, SetupRule, VolumeRule,
};
use crate::ui::sanitize;

#[derive(Serialize)]
struct Shown<'a> {
    description: &'a str,
    image: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    command: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    env_pass: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    prompt: &'a [String],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    terminal: bool,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    acp: &'a [String],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<&'a str, &'a str>,
    workspace: ShownWorkspace<'a>,
    limits: ShownLimits,
    session: ShownSession,
    attach: ShownAttach,
    #[serde(skip_serializing_if = "Option::is_none")]
    ask: Option<ShownAsk<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notify: Option<ShownNotify<'a>>,
    network: ShownNetwork,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    secrets: BTreeMap<&'a str, ShownSecret<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    files: BTreeMap<&'a str, ShownFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    home: Option<ShownHome>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    volumes: Vec<ShownVolume<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    services: BTreeMap<&'a str, ShownService<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    setup: Vec<ShownSetup<'a>>,
    gate: ShownGate,
    #[serde(skip_serializing_if = "Option::is_none")]
    pr: Option<ShownPr<'a>>,
}

#[derive(Serialize)]
struct ShownWorkspace<'a> {
    target: &'static str,
    git: &'static str,
    exclude: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    protect: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    isolation: Option<&'static str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    share: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<&'a str>,
}

#[derive(Serialize)]
struct ShownLimits {
    memory: String,
    cpus: f64,
    pids: u32,
    tmp: String,
    timeout: String,
    idle: String,
    life: String,
    disk: String,
    inodes: u32,
}

#[derive(Serialize)]
struct ShownSession {
    stay: bool,
}

#[derive(Serialize)]
struct ShownAttach {
    prefix: String,
}

#[derive(Serialize)]
struct ShownAsk<'a> {
    mode: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<&'a str>,
    output: String,
    spill: &'a str,
    idle: String,
}

#[derive(Serialize)]
struct ShownNotify<'a> {
    command: &'a [String],
    on: Vec<&'static str>,
}

#[derive(Serialize)]
struct ShownNetwork {
    mode: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    allow: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deny: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ports: Vec<String>,
}

#[derive(Serialize)]
struct ShownSecret<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    env: Option<&'a str>,
    from: BTreeMap<&'static str, serde_json::Value>,
    broker: ShownBroker<'a>,
}

#[derive(Serialize)]
struct ShownBroker<'a> {
    host: String,
    header: &'a str,
    scheme: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_url_env: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pass: &'a [String],
}

#[derive(Serialize)]
struct ShownFile {
    from: String,
    to: String,
    mode: &'static str,
}

#[derive(Serialize)]
struct ShownHome {
    keep: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    seed: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    memory: Vec<String>,
}

#[derive(Serialize)]
struct ShownVolume<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<Cache>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a str>,
    scope: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    access: Option<&'static str>,
}

#[derive(Serialize)]
struct ShownService<'a> {
    image: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    command: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a DataPath>,
    within: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_signal: Option<StopSignal>,
    memory: String,
    cpus: f64,
    pids: u32,
    keep: &'static str,
    required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    ready: Option<&'a Readiness>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
struct ShownSetup<'a> {
    run: &'a [String],
    #[serde(rename = "in")]
    place: &'a str,
    always: bool,
    within: String,
}

#[derive(Serialize)]
struct ShownPr<'a> {
    file: &'a str,
}

#[derive(Serialize)]
struct ShownGate {
    apply: &'static str,
    ignored: &'static str,
    max_entries: u32,
    max_bytes: String,
    max_file_bytes: String,
}

fn shown_home(home: &HomeRules) -> ShownHome {
    let paths = |paths: &[RelPathBuf]| paths.iter().map(|path| format!("~/{path}")).collect();
    ShownHome {
        keep: home.keep.as_str(),
        size: home.size.map(|size| ByteSize(size).to_string()),
        seed: paths(&home.seed),
        memory: paths(&home.memory),
    }
}

fn shown_volume(volume: &VolumeRule) -> ShownVolume<'_> {
    let (scope, access) = volume.scope.words();
    ShownVolume {
        name: volume.id.as_str(),
        cache: volume.cache,
        target: match volume.cache {
            // It says where that lies.
            Some(_) => None,
            None => Some(&volume.target),
        },
        scope,
        access,
    }
}

fn shown_service(service: &ServiceRule) -> ShownService<'_> {
    ShownService {
        image: &service.image,
        command: &service.command,
        data: service.data.as_ref(),
        within: Span(service.within).to_string(),
        stop_signal: service.stop_signal,
        memory: ByteSize(service.memory).to_string(),
        cpus: service.cpus,
        pids: service.pids,
        keep: service.keep.as_str(),
        required: service.required,
        ready: service.ready.as_ref(),
        env: (service.env.iter())
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect(),
    }
}

fn shown_setup(step: &SetupRule) -> ShownSetup<'_> {
    ShownSetup {
        run: &step.run,
        place: step
            .service
            .as_ref()
            .map_or("command", |name| name.as_str()),
        always: step.repeat == SetupRepeat::Always,
        within: Span(step.within).to_string(),
    }
}

fn shown_file(file: &FileRule) -> ShownFile {
    ShownFile {
        from: file.from.display().to_string(),
        to: format!("~/{}", file.to),
        mode: match file.mode {
            CredentialMode::ReadOnly => "0400",
            CredentialMode::Writable => "0600",
        },
    }
}

/// Shows where a key comes from, never the key.
fn shown_secret(secret: &SecretRule) -> ShownSecret<'_> {
    let (source, value) = match &secret.from {
        SecretSource::Env(name) => ("env", name.as_str().into()),
        SecretSource::File(path) => ("file", path.to_string_lossy().into()),
        SecretSource::Command(argv) => ("command", argv.clone().into()),
        SecretSource::Keychain { service, account } => {
            ("keychain", format!("{service}/{account}").into())
        }
    };
    let broker = &secret.broker;
    ShownSecret {
        env: secret.env.as_ref().map(EnvName::as_str),
        from: BTreeMap::from([(source, value)]),
        broker: ShownBroker {
            host: broker.target.to_string(),
            header: &broker.header,
            scheme: match broker.scheme {
                Scheme::Raw => "raw",
                Scheme::Bearer => "bearer",
            },
            base_url_env: broker.base_url_env.as_ref().map(EnvName::as_str),
            pass: &broker.pass,
        },
    }
}

impl ApplyMode {
    /// Returns the word of profiles and options.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Ask => "ask",
            Self::Auto => "auto",
        }
    }
}

impl Profile {
    fn shown(&self) -> Shown<'_> {
        Shown {
            description: &self.description,
            image: &self.image,
            command: &self.command,
            env_pass: &self.env_pass,
            prompt: &self.prompt,
            terminal: self.terminal,
            acp: &self.acp,
            env: self
                .env
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect(),
            workspace: ShownWorkspace {
                target: super::resolve::TARGET,
                git: match self.workspace.git {
                    GitChoice::None => "none",
                    GitChoice::Shallow => "shallow",
                    GitChoice::Full => "full",
                },
                exclude: &self.workspace.exclude,
                protect: &self.workspace.protect,
                isolation: match self.workspace.isolation {
                    Isolation::Workspace => None,
                    Isolation::Project => Some("project"),
                },
                share: &self.workspace.share,
                project: self.workspace.project.as_deref(),
            },
            limits: ShownLimits {
                memory: ByteSize(self.limits.memory).to_string(),
                cpus: self.limits.cpus,
                pids: self.limits.pids,
                tmp: ByteSize(self.limits.tmp).to_string(),
                timeout: Span(self.limits.timeout).to_string(),
                idle: Span(self.limits.idle).to_string(),
                life: Span(self.limits.life).to_string(),
                disk: ByteSize(self.limits.disk).to_string(),
                inodes: self.limits.inodes,
            },
            session: ShownSession {
                stay: self.session.stay,
            },
            attach: ShownAttach {
                prefix: self.attach.prefix.to_string(),
            },
            ask: (self.ask != AskRules::default()).then(|| ShownAsk {
                mode: self.ask.mode.as_str(),
                start: self.ask.sentinels.as_ref().map(|lines| &*lines.start),
                end: self.ask.sentinels.as_ref().map(|lines| &*lines.end),
                output: ByteSize(self.ask.output).to_string(),
                spill: &self.ask.spill,
                idle: Span(self.ask.idle).to_string(),
            }),
            notify: (self.notify.as_ref()).map(|notify| ShownNotify {
                command: &notify.command,
                on: notify.on.iter().map(|kind| kind.as_str()).collect(),
            }),
            network: ShownNetwork {
                mode: self.network.mode.as_str(),
                allow: self.network.allow.iter().map(ToString::to_string).collect(),
                deny: self.network.deny.iter().map(ToString::to_string).collect(),
                ports: self.network.ports.iter().map(ToString::to_string).collect(),
            },
            secrets: (self.secrets.iter())
                .map(|secret| (secret.name.as_str(), shown_secret(secret)))
                .collect(),
            files: (self.files.iter())
                .map(|file| (file.name.as_str(), shown_file(file)))
                .collect(),
            home: (self.home != HomeRules::default()).then(|| shown_home(&self.home)),
            volumes: self.volumes.iter().map(shown_volume).collect(),
            services: (self.services.iter())
                .map(|service| (service.name.as_str(), shown_service(service)))
                .collect(),
            setup: self.setup.iter().map(shown_setup).collect(),
            gate: ShownGate {
                apply: self.gate.apply.as_str(),
                ignored: self.gate.ignored.as_str(),
                max_entries: self.gate.max_entries,
                max_bytes: ByteSize(self.gate.max_bytes).to_string(),
                max_file_bytes: ByteSize(self.gate.max_file_bytes).to_string(),
            },
            pr: (self.pr.file.as_ref()).map(|file| ShownPr {
                file: file.as_str(),
            }),
        }
    }

    /// Returns the profile as TOML with every default filled in. Characters that could
    /// act on a terminal or hide are shown escaped.
    pub fn to_toml(&self) -> String {
        let text = toml::to_string(&self.shown()).unwrap_or_else(|error| format!("# {error}\n"));
        text.lines().map(|line| sanitize(line) + "\n").collect()
    }

    /// Returns the profile as JSON with every default filled in.
    pub fn to_json(&self) -> serde_json::Value {
        let mut value = serde_json::to_value(self.shown()).unwrap_or_default();
        value["name"] = self.name.as_str().into();
        value["command"] = self.command.clone().into();
        value
    }
}
