//! Keys of the user's: where they come from, on their way to the gateway and nowhere else.
//!
//! A key is a [`Secret`] from the moment it is read: it has no `Display`, shows nothing in
//! `Debug`, and is wiped when it is dropped. It leaves this process by the standard input of
//! the session's gateway and by no other way.

mod file;
mod program;
mod source;
mod take;
#[cfg(test)]
mod tests;

use lazaret_egress::Secret;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::profile::{SecretRule, SecretSource};
use lazaret_session::cancel::Cancel;
use source::SecretContext;

pub(crate) use file::read as read_file;

/// A key with its rule.
#[derive(Debug)]
pub struct Resolved<'a> {
    /// Where it comes from and whom it is for.
    pub rule: &'a SecretRule,
    /// It.
    pub secret: Secret,
}

/// Takes every key of a profile, before anything is made or copied.
///
/// # Errors
/// Says which key is missing, and where it was looked for.
pub fn resolve<'a>(
    rules: &'a [SecretRule],
    env: &Environment,
    cancel: &Cancel,
) -> Result<Vec<Resolved<'a>>, Failure> {
    let reach = SecretContext {
        env,
        cancel,
        patience: source::PATIENCE,
    };
    let mut resolved: Vec<(usize, Resolved<'a>)> = Vec::new();
    for at_hand in [true, false] {
        for (index, rule) in rules.iter().enumerate() {
            if take::is_at_hand(&rule.from) == at_hand {
                let secret = take::take(&rule.name, &rule.from, reach)?;
                resolved.push((index, Resolved { rule, secret }));
            }
        }
    }
    // Their places decide which port of the loopback leads to whom.
    resolved.sort_by_key(|(index, _)| *index);
    Ok(resolved.into_iter().map(|(_, resolved)| resolved).collect())
}

/// Whether a key or a login is there, as far as that shows without a prompt or a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// It is.
    There,
    /// It is not, or can't be used.
    Missing(String),
    /// Only the program that has it knows.
    Unknown,
}

impl Presence {
    /// Returns the word of `--json`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::There => "there",
            Self::Missing(_) => "missing",
            Self::Unknown => "unknown",
        }
    }
}

/// Looks whether a key is there, without taking it any further.
pub fn presence(from: &SecretSource, env: &Environment) -> Presence {
    match from {
        SecretSource::Env(name) => match env.text(name) {
            Some(_) => Presence::There,
            None => Presence::Missing(format!("the variable {name} is not set")),
        },
        SecretSource::File(path) => file_presence(path, env),
        SecretSource::Command(_) | SecretSource::Keychain { .. } => Presence::Unknown,
    }
}

/// Looks whether a file with a key or a login is there.
pub fn file_presence(path: &std::path::Path, env: &Environment) -> Presence {
    match file::read(path, env) {
        Ok(_) => Presence::There,
        Err(failure) => Presence::Missing(failure.chain().join(": ")),
    }
}
