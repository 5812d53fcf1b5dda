//! `[secrets.NAME]`: a key that the command never has, and who adds it on the way.

use std::path::PathBuf;

use lazaret_egress::{BrokerRoute, HostName, HostPort, Port, Scheme, is_credential};
use lazaret_runtime::EnvName;

use super::raw::{RawScheme, RawSecret};
use super::source::{ProfileError, Source};

/// Brokered hosts have a port of the agent's loopback each, from 8100 on.
const MOST: usize = 100;

/// `[secrets.NAME]`: where a key comes from and whom it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretRule {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub from: SecretSource,
    /// The variable inside that holds a placeholder: programs want to see a key there.
    pub env: Option<EnvName>,
    /// Who gets it.
    pub broker: BrokerRule,
}

/// Where a key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// A variable of the user's.
    Env(String),
    /// A file of the user's; `~/` is the home directory.
    File(PathBuf),
    /// What a command prints: a password manager's, for instance.
    Command(Vec<String>),
    /// An entry of the system's keychain.
    Keychain {
        /// What the entry is for.
        service: String,
        /// Whose it is.
        account: String,
    },
}

/// The one host that gets a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerRule {
    /// Host and port, 443 unless it says otherwise.
    pub target: HostPort,
    /// The header that carries the key.
    pub header: String,
    /// How it carries it.
    pub scheme: Scheme,
    /// The variable inside that holds the URL by which the host is reached.
    pub base_url_env: Option<EnvName>,
    /// Fields of requests that go on to the host beside the usual ones, in lower case.
    pub pass: Vec<String>,
}

impl SecretRule {
    /// What the command sees in the place of the key.
    pub fn placeholder(&self) -> String {
        BrokerRoute::placeholder_of(&self.name)
    }
}

/// Reads `[secrets]`.
pub(super) fn secrets<'a>(
    source: &Source<'_>,
    raw: impl IntoIterator<Item = (&'a toml::Spanned<String>, &'a RawSecret)>,
) -> Result<Vec<SecretRule>, ProfileError> {
    let mut rules = Vec::new();
    for (name, raw) in raw {
        if rules.len() == MOST {
            let message = format!("`secrets`: more than {MOST} can't be served");
            return Err(source.error(&name.span(), &message));
        }
        rules.push(secret(source, name, raw)?);
    }
    Ok(rules)
}

fn secret(
    source: &Source<'_>,
    name: &toml::Spanned<String>,
    raw: &RawSecret,
) -> Result<SecretRule, ProfileError> {
    let key = name.get_ref();
    let wrong = |span: std::ops::Range<usize>, what: &str| {
        source.error(&span, &format!("`secrets.{key}`: {what}"))
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if key.is_empty() || key.len() > 64 || !key.chars().all(plain) {
        return Err(wrong(
            name.span(),
            "expected a name of letters, digits, `-` and `_`, 64 at most",
        ));
    }
    let Some(broker) = &raw.broker else {
        return Err(wrong(
            name.span(),
            "a secret without a `broker` would have to go into the container; expected such as \
             broker = { host = \"api.example.org\", header = \"authorization\" }",
        ));
    };
    let from = raw.from.get_ref();
    let from = match (&from.env, &from.file, &from.command, &from.keychain) {
        (Some(name), None, None, None) => SecretSource::Env(name.clone()),
        (None, Some(path), None, None) if path.starts_with('/') || path.starts_with("~/") => {
            SecretSource::File(path.into())
        }
        (None, None, Some(argv), None) if !argv.is_empty() => SecretSource::Command(argv.clone()),
        (None, None, None, Some(entry)) if entry.split_once('/').is_some() => {
            let (service, account) = entry.split_once('/').unwrap_or((entry, ""));
            SecretSource::Keychain {
                service: service.to_owned(),
                account: account.to_owned(),
            }
        }
        _ => {
            return Err(wrong(
                raw.from.span(),
                "`from` names one source: env = \"NAME\", file = \"~/path\" (or an absolute one), \
                 command = [\"program\", …] or keychain = \"service/account\"",
            ));
        }
    };
    let variable = |value: &Option<toml::Spanned<String>>, what: &str| {
        let parse = |text: &toml::Spanned<String>| {
            let parsed: Result<EnvName, _> = text.get_ref().parse();
            parsed.map_err(|error| wrong(text.span(), &format!("`{what}`: {error}")))
        };
        value.as_ref().map(parse).transpose()
    };
    let env = match (variable(&raw.env, "env")?, &from) {
        (Some(name), _) => Some(name),
        (None, SecretSource::Env(name)) => name.parse().ok(),
        (None, _) => None,
    };
    let host = broker.host.get_ref();
    let target = match host.parse::<HostPort>() {
        Ok(target) => Ok(target),
        Err(_) => host
            .parse::<HostName>()
            .map(|host| HostPort::new(host, Port::HTTPS)),
    };
    let target =
        target.map_err(|error| wrong(broker.host.span(), &format!("`broker.host`: {error}")))?;
    let header = broker.header.get_ref().to_ascii_lowercase();
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if header.is_empty() || !header.bytes().all(token) {
        let what = "`broker.header`: expected the name of a header, such as \"x-api-key\"";
        return Err(wrong(broker.header.span(), what));
    }
    let mut pass = Vec::new();
    for field in &broker.pass {
        let name = field.get_ref().to_ascii_lowercase();
        let is_name = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if name.is_empty() || !is_name || name == header || is_credential(name.as_bytes()) {
            let what = "`broker.pass`: expected names of headers that carry no credential, such \
                        as \"openai-organization\"";
            return Err(wrong(field.span(), what));
        }
        pass.push(name);
    }
    let scheme = match broker.scheme {
        Some(RawScheme::Raw) => Scheme::Raw,
        Some(RawScheme::Bearer) => Scheme::Bearer,
        None if header == "authorization" => Scheme::Bearer,
        None => Scheme::Raw,
    };
    Ok(SecretRule {
        name: key.clone(),
        from,
        env,
        broker: BrokerRule {
            target,
            header,
            scheme,
            base_url_env: variable(&broker.base_url_env, "broker.base_url_env")?,
            pass,
        },
    })
}
