//! A profile as it takes effect, for people (TOML) and programs (JSON).

use std::collections::BTreeMap;

use serde::Serialize;

use super::units::{ByteSize, Span};
use super::{ApplyMode, GitChoice, Isolation, Profile};
use crate::ui::harmless;

#[derive(Serialize)]
struct Shown<'a> {
    description: &'a str,
    image: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    command: &'a [String],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<&'a str, &'a str>,
    workspace: ShownWorkspace<'a>,
    limits: ShownLimits,
    network: ShownNetwork,
    gate: ShownGate,
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
}

#[derive(Serialize)]
struct ShownLimits {
    memory: String,
    cpus: f64,
    pids: u32,
    tmp: String,
    timeout: String,
}

#[derive(Serialize)]
struct ShownNetwork {
    mode: &'static str,
}

#[derive(Serialize)]
struct ShownGate {
    apply: &'static str,
    max_entries: u32,
    max_bytes: String,
    max_file_bytes: String,
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
            },
            limits: ShownLimits {
                memory: ByteSize(self.limits.memory).to_string(),
                cpus: self.limits.cpus,
                pids: self.limits.pids,
                tmp: ByteSize(self.limits.tmp).to_string(),
                timeout: Span(self.limits.timeout).to_string(),
            },
            network: ShownNetwork { mode: "none" },
            gate: ShownGate {
                apply: self.gate.apply.as_str(),
                max_entries: self.gate.max_entries,
                max_bytes: ByteSize(self.gate.max_bytes).to_string(),
                max_file_bytes: ByteSize(self.gate.max_file_bytes).to_string(),
            },
        }
    }

    /// Returns the profile as TOML with every default filled in. Characters that could
    /// act on a terminal or hide are shown escaped.
    pub fn to_toml(&self) -> String {
        let text = toml::to_string(&self.shown()).unwrap_or_else(|error| format!("# {error}\n"));
        text.lines().map(|line| harmless(line) + "\n").collect()
    }

    /// Returns the profile as JSON with every default filled in.
    pub fn to_json(&self) -> serde_json::Value {
        let mut value = serde_json::to_value(self.shown()).unwrap_or_default();
        value["name"] = self.name.as_str().into();
        value["command"] = self.command.clone().into();
        value
    }
}
