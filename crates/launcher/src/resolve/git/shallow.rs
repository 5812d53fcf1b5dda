//! A history of one commit, with the index.

use std::fs;

use lazaret_tree::AtPath as _;

use super::borrowed_repository::{BorrowedRepository, write};
use super::pack::{self, PackContents};
use crate::failure::Failure;

/// Makes `HEAD`, its branch, `shallow`, and one pack of all that the commit and the index
/// refer to.
pub(super) fn make(borrowed: &BorrowedRepository<'_>) -> Result<(), Failure> {
    let made = borrowed.made();
    for part in ["refs", "objects/pack"] {
        let path = made.join(part);
        fs::create_dir_all(&path).at(&path)?;
    }
    let branch = borrowed.branch()?;
    // Resolved before the change of sides: a detached head is known to the worktree alone.
    let commit = match &branch {
        Some(branch) => {
            borrowed.turn_to_common()?;
            commit(borrowed, branch)?
        }
        None => {
            let commit = commit(borrowed, "HEAD")?;
            borrowed.turn_to_common()?;
            commit
        }
    };
    if let Some(commit) = &commit {
        let ends_here = format!("{commit}\n");
        // Here it keeps git from going on to what came before.
        write(&borrowed.dir().join("shallow"), ends_here.as_bytes())?;
        write(&made.join("shallow"), ends_here.as_bytes())?;
    }
    let head = match (&branch, &commit) {
        (Some(branch), _) => format!("ref: {branch}\n"),
        (None, Some(commit)) => format!("{commit}\n"),
        (None, None) => return Err(no_head()),
    };
    write(&made.join("HEAD"), head.as_bytes())?;
    if let (Some(branch), Some(commit)) = (&branch, &commit) {
        write(
            &made.join("packed-refs"),
            format!("{commit} {branch}\n").as_bytes(),
        )?;
    }
    let contents = PackContents::CommitAndIndex;
    pack::write(borrowed, &made, contents, commit.as_deref()).map_err(|failure| {
        failure.hinted(
            "Objects may be missing, as in a partial clone; `workspace.git` can also be \"full\" \
             or \"none\".",
        )
    })
}

/// Returns the commit that a ref names; `None` for a branch without any.
fn commit(borrowed: &BorrowedRepository<'_>, name: &str) -> Result<Option<String>, Failure> {
    // This looks the name up, and not what it names.
    let there = borrowed.git(&["rev-parse", "--verify", "--quiet", name], "")?;
    if there.code == Some(1) && name != "HEAD" {
        return Ok(None);
    }
    let peeled = format!("{name}^{{commit}}");
    let found = borrowed.git(&["rev-parse", "--verify", "--end-of-options", &peeled], "")?;
    Ok(Some(found.text("read the commit of HEAD")?))
}

fn no_head() -> Failure {
    Failure::message(
        crate::failure::FailureKind::Workspace,
        "the repository's HEAD names neither a branch nor a commit",
    )
}
