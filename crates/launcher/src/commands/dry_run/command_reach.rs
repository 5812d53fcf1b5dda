//! What a command would reach: its network, its keys, its logins, what it may only read, its
//! services, and what runs before it.

use lazaret_egress::{Preset, Rule};
use lazaret_tree::escape;
use serde::Serialize;
use serde_json::{Value, json};

use lazaret_gate::format::show_command;

use crate::environment::Environment;
use crate::profile::{NetworkMode, Profile, ServiceRule, SetupRepeat, SetupRule};
use crate::resolve::secrets::{self, Presence};
use lazaret_session::store::record::WriteScope;

/// What is said of it, and nothing of a key's or a login's contents.
#[derive(Debug)]
pub(crate) struct CommandReach {
    network: &'static str,
    allow: Vec<Rule>,
    /// What it is, whom or where it is for, and whether it is there.
    secrets: Vec<(String, String, Presence)>,
    files: Vec<(String, String, Presence)>,
    protect: Vec<String>,
    services: Vec<Server>,
    setup: Vec<Step>,
}

/// A server beside the command.
#[derive(Debug, Serialize)]
struct Server {
    name: String,
    image: String,
}

/// What runs before the command.
#[derive(Debug, Serialize)]
struct Step {
    run: Vec<String>,
    r#in: String,
    always: bool,
}

impl CommandReach {
    pub(crate) fn of(profile: &Profile, bounds: &WriteScope, env: &Environment) -> Self {
        let has_network = profile.network.mode != NetworkMode::None;
        let secrets = profile.secrets.iter().filter(|_| has_network);
        let files = profile.files.iter().filter(|_| has_network);
        Self {
            network: profile.network.mode.as_str(),
            allow: profile.network.allow.clone(),
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
            services: profile.services.iter().map(server).collect(),
            setup: profile.setup.iter().map(step).collect(),
        }
    }

    /// The first says what the network is; the others are below it.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("network: {}", self.network)];
        lines.extend(self.allow.iter().map(|rule| {
            let preset = Preset::of(rule).map(|preset| format!("  {}", preset.name));
            format!("  allowed  {rule}{}", preset.unwrap_or_default())
        }));
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
        if !self.services.is_empty() {
            lines.push("services".to_owned());
            let services = self.services.iter();
            lines.extend(
                services.map(|server| format!("  {:<8} image {}", server.name, server.image)),
            );
        }
        if !self.setup.is_empty() {
            lines.push("setup".to_owned());
            lines.extend(self.setup.iter().map(|step| {
                let often = match step.always {
                    true => ", before each command",
                    false => "",
                };
                format!("  {:<8} {}{often}", step.r#in, show_command(&step.run))
            }));
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
            "services": self.services,
            "setup": self.setup,
        })
    }
}

fn server(rule: &ServiceRule) -> Server {
    Server {
        name: rule.name.to_string(),
        image: rule.image.clone(),
    }
}

fn step(rule: &SetupRule) -> Step {
    Step {
        run: rule.run.clone(),
        r#in: rule
            .service
            .as_ref()
            .map_or("command".to_owned(), ToString::to_string),
        always: rule.repeat == SetupRepeat::Always,
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
