//! Logins of the user's that no broker can serve: files that a session is lent.
//!
//! A session gets a copy, in the home of its container, which is memory and goes with it. The
//! contents travel by the standard input of `porter lend` and by no other way. What the
//! command makes of its copy is kept on a [`Shelf`] of lazaret's own and given to the next
//! session; the user's file is never written.

mod in_use;
mod shelf;
#[cfg(test)]
mod tests;
mod tokens;

use std::fmt;

use lazaret_protocol::LARGEST_LENT;
use lazaret_runtime::SessionId;
use lazaret_tree::{Digest, PathError};
use zeroize::Zeroizing;

pub use in_use::InUse;
pub use shelf::Shelf;
pub(crate) use tokens::{renews_itself, secret_tokens, tokens};

use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};
use crate::profile::FileRule;
use crate::secret;

/// A file with its rule, as the session gets it.
pub struct Lent {
    /// Where it comes from and where it goes.
    pub rule: FileRule,
    /// It.
    pub contents: Zeroizing<Vec<u8>>,
    /// Whether it is what a session before has made of it.
    pub is_renewed: bool,
    /// Where it is kept once it is renewed.
    pub shelf: Shelf,
}

/// Shows no contents.
impl fmt::Debug for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lent")
            .field("rule", &self.rule)
            .field("is_renewed", &self.is_renewed)
            .finish_non_exhaustive()
    }
}

/// Takes every file of a profile, before anything is made or copied.
///
/// The user's own wins if it is not what it was when the one on the shelf was lent: then they
/// have logged in again. Otherwise the one on the shelf is newer.
///
/// # Errors
/// Says which one can't be had, and why. Nothing of it is in the message.
pub fn resolve(rules: &[FileRule], env: &Environment) -> Result<Vec<Lent>, Failure> {
    rules.iter().map(|rule| take(rule, env)).collect()
}

fn take(rule: &FileRule, env: &Environment) -> Result<Lent, Failure> {
    let name = &rule.name;
    let own = secret::read_file(&rule.from, env).and_then(fits);
    let own = own.map_err(|failure| {
        let from = rule.from.display();
        (failure.context(format!("the file {name} can't be lent"))).hinted(format!(
            "`files.{name}` of the profile names it: log in on this machine, so that {from} is \
             there, or take the entry out."
        ))
    })?;
    let shelf = Shelf::of(&rule.from, Digest::of(&own), env)?;
    let kept = shelf.read().map_err(|error| {
        Failure::new(FailureKind::Secret, error)
            .context(format!("what a session made of the file {name}"))
    })?;
    Ok(Lent {
        rule: rule.clone(),
        is_renewed: kept.is_some(),
        contents: kept.unwrap_or(own),
        shelf,
    })
}

fn fits(contents: Zeroizing<Vec<u8>>) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let wrong = match contents.len() {
        0 => "it is empty",
        1..=LARGEST_LENT => return Ok(contents),
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
pub fn claim(lent: &[Lent], id: &SessionId) -> Result<(Vec<InUse>, Vec<String>), PathError> {
    let mut claims = Vec::new();
    let mut warnings = Vec::new();
    for file in lent {
        let (claim, others) = InUse::claim(file.shelf.folder(), id)?;
        claims.push(claim);
        if !others.is_empty() && renews_itself(&file.contents) {
            warnings.push(format!(
                "session {} uses the login {} as well: whichever renews it first may end the \
                 other's, if its refresh token can be used only once",
                others.join(", "),
                file.rule.name
            ));
        }
    }
    Ok((claims, warnings))
}
