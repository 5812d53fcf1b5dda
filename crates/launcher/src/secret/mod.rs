//! Keys of the user's: where they come from, on their way to the gateway and nowhere else.
//!
//! A key is a [`Secret`] from the moment it is read: it has no `Display`, shows nothing in
//! `Debug`, and is wiped when it is dropped. It leaves this process by the standard input of
//! the session's gateway and by no other way.

mod file;
mod program;
mod take;
#[cfg(test)]
mod tests;

use lazaret_egress::{Patterns, Secret};

use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};
use crate::interrupt::Interrupt;
use crate::profile::SecretRule;
use take::Reach;

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
    interrupt: &Interrupt,
) -> Result<Vec<Resolved<'a>>, Failure> {
    let reach = Reach {
        env,
        interrupt,
        patience: take::PATIENCE,
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
