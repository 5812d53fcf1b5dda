//! From what the user typed to a commit, and to the name by which a later run finds it again.

use super::borrowed_repository::BorrowedRepository;
use crate::failure::{Failure, FailureKind};
use lazaret_session::store::from_branch::FromBranch;

/// Where the repository keeps branches.
const BRANCHES: &str = "refs/heads/";

/// Finds the commit that `typed` names: a branch before a tag, then anything else that git takes
/// for a commit. `HEAD` is the branch that is checked out.
///
/// # Errors
/// If the name starts with `-`, is unknown, or names something else than a commit.
pub(super) fn resolve(
    borrowed: &BorrowedRepository<'_>,
    typed: &str,
) -> Result<FromBranch, Failure> {
    if typed.starts_with('-') {
        return Err(refuse(typed, "starts with `-`, so it can't be a branch"));
    }
    let wanted = below_head(borrowed, typed)?;
    borrowed.turn_to_common()?;
    let short = wanted.strip_prefix(BRANCHES).unwrap_or(&wanted);
    let full = format!("{BRANCHES}{short}");
    let shown = borrowed.git(&["show-ref", "--verify", "--quiet", "--", &full], "")?;
    if shown.code == Some(0) {
        return Ok(FromBranch {
            commit: commit(borrowed, &full)?.ok_or_else(|| missing(&full))?,
            branch: short.to_owned(),
        });
    }
    let Some(commit) = commit(borrowed, &wanted)? else {
        return Err(no_commit(borrowed, &wanted, typed)?);
    };
    let named = ["rev-parse", "--symbolic-full-name", "--verify", "--quiet"];
    let named = borrowed.git(&[&named[..], &[&wanted]].concat(), "")?;
    let name = named.text("read the name of a ref")?;
    Ok(FromBranch {
        branch: match name.starts_with("refs/") {
            true => name,
            // What counts from another commit would name a third one later.
            false => commit.clone(),
        },
        commit,
    })
}

/// Returns the name with `HEAD` or `@` at its start replaced by what `HEAD` names: a linked
/// worktree's `HEAD` is out of reach once the borrowed repository turns to the common refs.
fn below_head(borrowed: &BorrowedRepository<'_>, typed: &str) -> Result<String, Failure> {
    let mut words = ["HEAD", "@"].iter();
    let rest = words.find_map(|word| typed.strip_prefix(word));
    let is_end = |rest: &&str| rest.is_empty() || rest.starts_with(['~', '^']);
    let Some(rest) = rest.filter(is_end) else {
        return Ok(typed.to_owned());
    };
    let head = match borrowed.branch()? {
        Some(branch) => branch,
        None => {
            let head = borrowed.git(&["rev-parse", "--verify", "HEAD"], "")?;
            head.text("read HEAD")?
        }
    };
    Ok(head + rest)
}

/// Returns the commit that a name leads to, tags peeled; `None` if there is none.
fn commit(borrowed: &BorrowedRepository<'_>, name: &str) -> Result<Option<String>, Failure> {
    let peeled = format!("{name}^{{commit}}");
    let arguments = [
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        &peeled,
    ];
    let found = borrowed.git(&arguments, "")?;
    match found.code {
        Some(0) => Ok(Some(found.text("read a commit")?)),
        _ => Ok(None),
    }
}

/// Says why a name leads to no commit.
fn no_commit(
    borrowed: &BorrowedRepository<'_>,
    wanted: &str,
    typed: &str,
) -> Result<Failure, Failure> {
    let kind = borrowed.git(&["cat-file", "-t", "--end-of-options", wanted], "")?;
    Ok(match kind.code {
        Some(0) => refuse(
            typed,
            &format!("names a {}, not a commit", kind.text("read an object")?),
        ),
        _ => refuse(typed, "is no branch, tag or commit of this repository")
            .hinted("List the branches with `git branch --all`."),
    })
}

fn missing(branch: &str) -> Failure {
    refuse(branch, "names a commit that the repository does not have")
}

fn refuse(name: &str, why: &str) -> Failure {
    Failure::message(FailureKind::Refused, format!("\"{name}\" {why}"))
}
