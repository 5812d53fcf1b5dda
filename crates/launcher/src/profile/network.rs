//! `[network]`: what the command may reach.

use std::fmt;
use std::ops::Range;

use lazaret_egress::{AllowEntry, Port, Rule};

use super::raw::{RawNetwork, RawNetworkMode};
use super::source::{ProfileError, Source};

/// How much of the network there is. The order is from strict to loose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum NetworkMode {
    /// Nothing but the container's own loopback.
    None,
    /// What the rules name.
    Allowlist,
    /// Every public host and port.
    Open,
}

/// `[network]`: what the command may reach, and what of its own is reached from the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkRules {
    /// How much.
    pub mode: NetworkMode,
    /// The rules of [`NetworkMode::Allowlist`].
    pub allow: Vec<Rule>,
    /// What is closed in every mode, whatever allows it.
    pub deny: Vec<Rule>,
    /// Ports of the command's that a port of the host's loopback leads to.
    pub ports: Vec<Publish>,
}

/// A port of the session and the one of the host's loopback that leads to it:
/// `[HOST_PORT:]PORT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Publish {
    /// The port on 127.0.0.1; `None` for any that is free.
    pub host: Option<Port>,
    /// The port inside.
    pub inside: Port,
}

impl NetworkMode {
    /// Returns the word of profiles.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Allowlist => "allowlist",
            Self::Open => "open",
        }
    }
}

impl From<RawNetworkMode> for NetworkMode {
    fn from(raw: RawNetworkMode) -> Self {
        match raw {
            RawNetworkMode::None => Self::None,
            RawNetworkMode::Allowlist => Self::Allowlist,
            RawNetworkMode::Open => Self::Open,
        }
    }
}

impl std::str::FromStr for Publish {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let port = |text: &str| {
            text.parse::<Port>()
                .map_err(|error| format!("{error}; expected PORT or HOST_PORT:PORT"))
        };
        Ok(match text.split_once(':') {
            Some((host, inside)) => Self {
                host: Some(port(host)?),
                inside: port(inside)?,
            },
            None => Self {
                host: None,
                inside: port(text)?,
            },
        })
    }
}

impl fmt::Display for Publish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host {
            Some(host) => write!(f, "{host}:{}", self.inside),
            None => self.inside.fmt(f),
        }
    }
}

/// Reads `[network]` of a profile. `has_routes` says that a broker gives the command
/// something to reach even without a rule.
pub(super) fn network(
    source: &Source<'_>,
    raw: &RawNetwork,
    has_routes: HasRoutes,
) -> Result<NetworkRules, ProfileError> {
    let mode = raw
        .mode
        .as_ref()
        .map_or(NetworkMode::None, |mode| (*mode.get_ref()).into());
    let place = raw.mode.as_ref().map_or(0..0, toml::Spanned::span);
    let allow = allow_rules(source, raw.allow.as_ref())?;
    let deny = rules(source, "network.deny", raw.deny.as_ref())?;
    if let (NetworkMode::None, Some(deny)) = (mode, &raw.deny) {
        let message =
            "`network.deny` has no meaning with mode \"none\", where everything is closed";
        return Err(source.error(&deny.span(), message));
    }
    match (mode, &raw.allow) {
        (NetworkMode::Allowlist, _) if allow.is_empty() && has_routes == HasRoutes::No => {
            return Err(source.error(
                &place,
                "`network.mode` = \"allowlist\" without `network.allow`, expected such as \
                 allow = [\"api.example.org:443\"]",
            ));
        }
        (NetworkMode::None | NetworkMode::Open, Some(allow)) => {
            let message = format!(
                "`network.allow` has no meaning with mode \"{}\", expected mode = \"allowlist\"",
                mode.as_str()
            );
            return Err(source.error(&allow.span(), &message));
        }
        _ => {}
    }
    Ok(NetworkRules {
        mode,
        allow,
        deny,
        ports: ports(source, raw)?,
    })
}

/// Whether there are brokered hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HasRoutes {
    /// There are.
    Yes,
    /// There are none.
    No,
}

impl NetworkRules {
    /// Opens what the user named at the command line; a profile without a network gets one.
    /// Where every public host is open already, nothing changes.
    pub(super) fn open(&mut self, entries: &[AllowEntry]) {
        if entries.is_empty() || self.mode == NetworkMode::Open {
            return;
        }
        self.mode = NetworkMode::Allowlist;
        for rule in entries.iter().flat_map(AllowEntry::rules) {
            if !self.allow.contains(&rule) {
                self.allow.push(rule);
            }
        }
    }
}

/// Reads `network.allow`: rules, and presets as the rules that they stand for.
pub(super) fn allow_rules(
    source: &Source<'_>,
    list: Option<&toml::Spanned<Vec<toml::Spanned<String>>>>,
) -> Result<Vec<Rule>, ProfileError> {
    let mut rules = Vec::new();
    for text in list.map(toml::Spanned::get_ref).into_iter().flatten() {
        let entry: AllowEntry = text
            .get_ref()
            .parse()
            .map_err(|error| source.error(&text.span(), &format!("`network.allow`: {error}")))?;
        for rule in entry.rules() {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
    }
    Ok(rules)
}

/// Reads a list of rules without presets: `network.deny`.
pub(super) fn rules(
    source: &Source<'_>,
    key: &str,
    list: Option<&toml::Spanned<Vec<toml::Spanned<String>>>>,
) -> Result<Vec<Rule>, ProfileError> {
    let mut rules = Vec::new();
    for text in list.map(toml::Spanned::get_ref).into_iter().flatten() {
        let rule: Rule = text
            .get_ref()
            .parse()
            .map_err(|error| source.error(&text.span(), &format!("`{key}`: {error}")))?;
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    Ok(rules)
}

fn ports(source: &Source<'_>, raw: &RawNetwork) -> Result<Vec<Publish>, ProfileError> {
    let wrong = |span: Range<usize>, error: String| {
        Err(source.error(&span, &format!("`network.ports`: {error}")))
    };
    let mut ports = Vec::new();
    for text in &raw.ports {
        match text.get_ref().parse() {
            Ok(port) => ports.push(port),
            Err(error) => return wrong(text.span(), error),
        }
    }
    Ok(ports)
}
