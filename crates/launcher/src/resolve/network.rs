//! From a profile and the user's own configuration to what a session's gateway is told.

use std::collections::BTreeMap;

use lazaret_egress::{BrokerRoute, GatewayConfig, Mode, Patterns, Policy, SessionLimits};
use lazaret_runtime::EnvName;

use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};
use crate::profile::{NetworkMode, Profile};
use crate::resolve::secrets::{self, Resolved};
use crate::resolve::user_network::UserNetwork;
use lazaret_session::cancel::Cancel;
use lazaret_session::credentials::file::CredentialFile;
use lazaret_session::credentials::tokens::tokens;
use lazaret_session::network::{FIRST_BROKER, Plan};

/// What a command is given of the network.
#[derive(Debug)]
pub struct Network {
    /// What the session makes of it.
    pub plan: Plan,
    /// Variables for the command: where the proxy is, and in the place of each key a
    /// placeholder and the broker's address.
    pub env: BTreeMap<EnvName, String>,
}

/// Returns the policy of a profile; `None` where it has no network.
pub fn policy(profile: &Profile, user: &UserNetwork) -> Option<Policy> {
    let mode = match profile.network.mode {
        NetworkMode::None => return None,
        NetworkMode::Allowlist => Mode::Allowlist,
        NetworkMode::Open => Mode::Open,
    };
    let brokered = profile
        .secrets
        .iter()
        .map(|rule| rule.broker.target.clone());
    Some(Policy {
        mode,
        rules: profile.network.allow.clone(),
        denied: profile.network.deny.clone(),
        brokered: brokered.collect(),
        private: user.private.clone(),
        closed: Vec::new(),
    })
}

/// Prepares the network of a profile; `None` where it has none. Keys are fetched here, before
/// anything is made or copied.
///
/// # Errors
/// A key that is missing, or a mistake in `network.toml`.
pub fn prepare(
    profile: &Profile,
    env: &Environment,
    cancel: &Cancel,
    lent: &[CredentialFile],
) -> Result<Option<Network>, Failure> {
    if profile.network.mode == NetworkMode::None {
        return Ok(None);
    }
    let user = UserNetwork::load(env)?;
    let Some(policy) = policy(profile, &user) else {
        return Ok(None);
    };
    let resolved = secrets::resolve(&profile.secrets, env, cancel)?;
    let patterns = patterns(&resolved, lent)?;
    let mut variables = BTreeMap::new();
    let mut routes = Vec::new();
    for (index, Resolved { rule, secret }) in (0..).zip(resolved) {
        if let Some(name) = &rule.env {
            variables.insert(name.clone(), rule.placeholder());
        }
        if let Some(name) = &rule.broker.base_url_env {
            let port = FIRST_BROKER + index;
            variables.insert(name.clone(), format!("http://127.0.0.1:{port}"));
        }
        routes.push(BrokerRoute {
            name: rule.name.clone(),
            index,
            target: rule.broker.target.clone(),
            header: rule.broker.header.clone(),
            scheme: rule.broker.scheme,
            secret,
            pass: rule.broker.pass.clone(),
        });
    }
    let plan = Plan {
        order: GatewayConfig {
            policy,
            routes,
            trust: user.trust,
            inside: user.inside,
            caps: SessionLimits::default(),
        },
        patterns,
    };
    let mut env = plan.variables();
    env.extend(variables);
    Ok(Some(Network { plan, env }))
}

/// Prepares to find the keys, and the tokens of lent logins, in everything that is shown or kept.
///
/// # Errors
/// One that is too short to be told from ordinary text.
fn patterns(
    resolved: &[Resolved<'_>],
    lent: &[CredentialFile],
) -> Result<Option<Patterns>, Failure> {
    if resolved.is_empty() && lent.is_empty() {
        return Ok(None);
    }
    let logins: Vec<(&str, Vec<u8>)> = lent
        .iter()
        .flat_map(|file| {
            tokens(&file.contents)
                .into_iter()
                .map(|token| (&*file.name, token))
        })
        .collect();
    let keys = resolved.iter().map(|resolved| {
        let value = resolved.secret.expose().as_bytes();
        (resolved.rule.name.as_str(), value)
    });
    let pairs = keys.chain(logins.iter().map(|(name, token)| (*name, &token[..])));
    let patterns =
        Patterns::new(pairs).map_err(|error| Failure::new(FailureKind::Profile, error))?;
    Ok(Some(patterns))
}
