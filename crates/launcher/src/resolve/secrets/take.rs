//! Takes a secret from where the profile says.

use lazaret_egress::{SHORTEST_SECRET, Secret};
use zeroize::Zeroizing;

use super::source::{SecretContext, missing};
use super::{file, program};
use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};
use crate::profile::SecretSource;

/// Returns true if taking it starts no program and shows no prompt. The launcher takes these
/// first, so that the user does not unlock a password manager only to learn that a variable is
/// missing.
pub(super) fn is_at_hand(from: &SecretSource) -> bool {
    match from {
        SecretSource::Env(_) | SecretSource::File(_) => true,
        SecretSource::Command(_) | SecretSource::Keychain { .. } => false,
    }
}

/// Takes the secret `name`.
///
/// # Errors
/// It is not there, can be read by others, or is none. Nothing of it is in the message.
pub(super) fn take(
    name: &str,
    from: &SecretSource,
    reach: SecretContext<'_>,
) -> Result<Secret, Failure> {
    let value = match from {
        SecretSource::Env(variable) => variable_of(variable, reach.env),
        SecretSource::File(path) => {
            file::read(path, reach.env).map_err(|failure| match failure.hints.is_empty() {
                true => failure.hinted("Write the secret there, on one line, with mode 600."),
                false => failure,
            })
        }
        SecretSource::Command(argv) => program::print(argv, reach),
        SecretSource::Keychain { service, account } => program::look_up(service, account, reach),
    };
    value
        .and_then(checked)
        .map_err(|failure| match failure.kind {
            FailureKind::Interrupted => failure,
            // One hint is enough, and the nearest is the best.
            _ if !failure.hints.is_empty() => {
                failure.context(format!("the secret {name} can't be had"))
            }
            _ => failure
                .context(format!("the secret {name} can't be had"))
                .hinted("`from` in the profile's [secrets] says where it is taken from."),
        })
}

fn variable_of(variable: &str, env: &Environment) -> Result<Zeroizing<Vec<u8>>, Failure> {
    match env.text(variable) {
        Some(value) => Ok(Zeroizing::new(value.as_bytes().to_vec())),
        None if variable == "ANTHROPIC_API_KEY" => {
            Err(missing(format!("the variable {variable} is not set")).hinted(
                "Set it, as in `export ANTHROPIC_API_KEY=…`, or use a subscription's login: \
                 `lazaret run claude-login`. A profile of your own with `extends = \"claude\"` \
                 can take the key from a file, a program or a keychain.",
            ))
        }
        None => Err(missing(format!("the variable {variable} is not set")).hinted(format!(
            "Set it, as in `export {variable}=…`, or take the secret from elsewhere: `from = \
             {{ file = \"~/…\" }}`, `{{ command = [\"pass\", \"show\", \"…\"] }}` or `{{ keychain = \
             \"service/account\" }}` in a profile of your own."
        ))),
    }
}

/// Takes the end of the last line off, and looks that the rest can be a secret.
fn checked(value: Zeroizing<Vec<u8>>) -> Result<Secret, Failure> {
    let text = value.strip_suffix(b"\n").unwrap_or(&value);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    if text.is_empty() {
        return Err(missing("it is empty"));
    }
    if text.len() < SHORTEST_SECRET {
        return Err(missing(format!(
            "it is shorter than {SHORTEST_SECRET} bytes, and so could not be kept out of logs"
        )));
    }
    let text = std::str::from_utf8(text).map_err(|_not_utf8| missing("it is no text"))?;
    if text.chars().any(char::is_control) {
        return Err(missing(
            "it has more than one line, or a control character, which no header can carry",
        ));
    }
    Ok(Secret::new(text.to_owned()))
}
