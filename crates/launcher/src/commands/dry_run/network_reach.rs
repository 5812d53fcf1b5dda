//! What a command would reach: its network, its keys, its logins, and what it may only read.

use lazaret_tree::escape;
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::profile::{NetworkMode, Profile};
use crate::resolve::secrets::{self, Presence};
use lazaret_session::store::record::WriteScope;

/// What is said of it, and nothing of a key's or a login's contents.
#[derive(Debug)]
pub(crate) struct NetworkReach {
    network: &'static str,
    allow: Vec<String>,
    /// What it is, whom or where it is for, and whether it is there.
    secrets: Vec<(String, String, Presence)>,
    files: Vec<(String, String, Presence)>,
    protect: Vec<String>,
}

impl NetworkReach {
    pub(crate) fn of(profile: &Profile, bounds: &WriteScope, env: &Environment) -> Self {
        let has_network = profile.network.mode != NetworkMode::None;
        let secrets = profile.secrets.iter().filter(|_| has_network);
        let files = profile.files.iter().filter(|_| has_network);
        Self {
            network: profile.network.mode.as_str(),
            allow: profile
                .network
                .allow
                .iter()
                .map(ToString::to_string)
                .collect(),
            secrets: secrets
                .map(|rule| {
                    let there = secrets::presence(&rule.from, env);
                    (rule.name.clone(), rule.broker.target.to_string(), there)
                })
                .collect(),
            files: files
                .map(|rule| {
                    let there = secrets::file_presence(&rule.from, env);
                    (rule.name.clone(), format!("~/{}", rule.to), there)
                })
                .collect(),
            protect: bounds.protect.clone(),
        }
    }

    /// The first says what the network is; the others are below it.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("network: {}", self.network)];
        lines.extend(self.allow.iter().map(|rule| format!("  allowed  {rule}")));
        for (name, target, presence) in &self.secrets {
            lines.push(format!(
                "  broker   {target}, key {name}: {}",
                words(presence)
            ));
        }
        for (name, to, presence) in &self.files {
            lines.push(format!("  login    {to}, {name}: {}", words(presence)));
        }
        if !self.protect.is_empty() {
            lines.push("read only".to_owned());
            let paths = self.protect.iter().map(|path| escape(path.as_bytes()));
            lines.extend(paths.map(|path| format!("  {path}")));
        }
        lines
    }

    pub(super) fn document(&self) -> Value {
        let list = |list: &[(String, String, Presence)], place: &str| -> Vec<Value> {
            list.iter()
                .map(|(name, value, presence)| {
                    json!({ "name": name, place: value, "presence": presence.word() })
                })
                .collect()
        };
        json!({
            "network": { "mode": self.network, "allow": self.allow },
            "secrets": list(&self.secrets, "host"),
            "logins": list(&self.files, "to"),
            "protect": self.protect,
        })
    }
}

/// For people, escaped.
pub(crate) fn words(presence: &Presence) -> String {
    match presence {
        Presence::There => "there".to_owned(),
        Presence::Unknown => "asked for when it runs".to_owned(),
        Presence::Missing(why) => format!("missing, {}", escape(why.as_bytes())),
    }
}
