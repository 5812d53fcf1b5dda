//! Logins of the user's that no broker can serve: files that a session is lent.
//!
//! A session gets a copy, in the home of its container, which is memory and goes with it. The
//! contents travel by the standard input of `porter lend` and by no other way. What the
//! command makes of its copy is kept on a [`CredentialCache`] of lazaret's own and given to the next
//! session; the user's file is never written.

mod in_use;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use lazaret_protocol::MAX_CREDENTIAL_BYTES;
use lazaret_runtime::SessionId;
use lazaret_session::credentials::cache::CredentialCache;
use lazaret_session::credentials::file::CredentialFile;
use lazaret_session::credentials::tokens::renews_itself;
use lazaret_tree::{Digest, PathError};
use zeroize::Zeroizing;

pub use in_use::InUse;

use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};
use crate::profile::FileRule;
use crate::resolve::secrets;

/// Takes every file of a profile, before anything is made or copied.
///
/// The user's own wins if it is not what it was when the one in the cache was lent: then they
/// have logged in again. Otherwise the one in the cache is newer.
///
/// # Errors
/// Says which one can't be had, and why. Nothing of it is in the message.
pub fn resolve(rules: &[FileRule], env: &Environment) -> Result<Vec<CredentialFile>, Failure> {
    rules.iter().map(|rule| take(rule, env)).collect()
}

fn take(rule: &FileRule, env: &Environment) -> Result<CredentialFile, Failure> {
    let name = &rule.name;
    let own = secrets::read_file(&rule.from, env).and_then(fits);
    let own = own.map_err(|failure| {
        let from = rule.from.display();
        (failure.context(format!("the file {name} can't be lent"))).hinted(format!(
            "`files.{name}` of the profile names it: log in on this machine, so that {from} is \
             there, or take the entry out."
        ))
    })?;
    let cache = cache_of(&rule.from, Digest::of(&own), env)?;
    let kept = cache.read().map_err(|error| {
        Failure::new(FailureKind::Secret, error)
            .context(format!("what a session made of the file {name}"))
    })?;
    Ok(CredentialFile {
        name: rule.name.clone(),
        to: rule.to.clone(),
        mode: rule.mode,
        is_renewed: kept.is_some(),
        contents: kept.unwrap_or(own),
        cache,
    })
}

/// Finds where lazaret keeps what sessions make of a file of the user's, whose contents have
/// the digest `own`.
///
/// # Errors
/// There is no home, or no directory for lazaret's state.
fn cache_of(from: &Path, own: Digest, env: &Environment) -> Result<CredentialCache, Failure> {
    let from = match from.strip_prefix("~") {
        Ok(below) => env.home()?.join(below),
        Err(_absolute) => from.to_owned(),
    };
    // One file has one place, by whichever way it is named.
    let real = fs::canonicalize(&from).unwrap_or(from);
    let name = Digest::of(real.as_os_str().as_encoded_bytes()).to_hex();
    let folder = env.state_dir()?.join("files").join(&name[..32]);
    Ok(CredentialCache::at(folder, own))
}

fn fits(contents: Zeroizing<Vec<u8>>) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let wrong = match contents.len() {
        0 => "it is empty",
        1..=MAX_CREDENTIAL_BYTES => return Ok(contents),
        _ => "it is larger than a login can be",
    };
    Err(Failure::message(FailureKind::Secret, wrong))
}

/// Says that a session uses these files, for as long as the returned values live. Also
/// returns what the user has to know: which other live sessions use one that renews itself,
/// since a token that can be used once ends the other's login.
///
/// # Errors
/// The disk's.
pub fn claim(
    lent: &[CredentialFile],
    id: &SessionId,
) -> Result<(Vec<InUse>, Vec<String>), PathError> {
    let mut claims = Vec::new();
    let mut warnings = Vec::new();
    for file in lent {
        let (claim, others) = InUse::claim(file.cache.folder(), id)?;
        claims.push(claim);
        if !others.is_empty() && renews_itself(&file.contents) {
            warnings.push(format!(
                "session {} uses the login {} as well: whichever renews it first may end the \
                 other's, if its refresh token can be used only once",
                others.join(", "),
                file.name
            ));
        }
    }
    Ok((claims, warnings))
}
