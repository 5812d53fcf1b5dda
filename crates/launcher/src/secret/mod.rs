//! Keys of the user's: where they come from, on their way to the gateway and nowhere else.

use lazaret_egress::{Patterns, Secret};

use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};
use crate::profile::{SecretRule, SecretSource};

/// A key with its rule.
#[derive(Debug)]
pub struct Resolved<'a> {
    /// Where it comes from and whom it is for.
    pub rule: &'a SecretRule,
    /// It.
    pub secret: Secret,
}

/// Fetches every key of a profile, before anything is made or copied.
///
/// # Errors
/// Says which key is missing, and where it was looked for.
pub fn resolve<'a>(
    rules: &'a [SecretRule],
    env: &Environment,
) -> Result<Vec<Resolved<'a>>, Failure> {
    rules
        .iter()
        .map(|rule| {
            let secret = fetch(rule, env)?;
            Ok(Resolved { rule, secret })
        })
        .collect()
}

/// Prepares to find the keys in everything that is shown or kept.
///
/// # Errors
/// One that is too short to be told from ordinary text.
pub fn patterns(resolved: &[Resolved<'_>]) -> Result<Option<Patterns>, Failure> {
    if resolved.is_empty() {
        return Ok(None);
    }
    let pairs = resolved.iter().map(|resolved| {
        let value = resolved.secret.expose().as_bytes();
        (resolved.rule.name.as_str(), value)
    });
    let patterns =
        Patterns::new(pairs).map_err(|error| Failure::new(FailureKind::Profile, error))?;
    Ok(Some(patterns))
}

fn fetch(rule: &SecretRule, env: &Environment) -> Result<Secret, Failure> {
    match &rule.from {
        SecretSource::Env(variable) => match env.text(variable) {
            Some(value) => Ok(Secret::new(value.trim().to_owned())),
            None => Err(Failure::message(
                FailureKind::Profile,
                format!("the key {} is missing: {variable} is not set", rule.name),
            )
            .hinted(format!(
                "`export {variable}=…`; the key goes to the gateway alone, never into the container."
            ))),
        },
        SecretSource::File(_) | SecretSource::Command(_) | SecretSource::Keychain(_) => {
            let text = format!(
                "the key {} comes from a source that is not available yet in this version",
                rule.name
            );
            Err(Failure::message(FailureKind::Profile, text).hinted("Use from = { env = \"NAME\" }."))
        }
    }
}
