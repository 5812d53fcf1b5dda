//! The safety check of the workspace: what lazaret refuses to work in.

use std::io;
use std::path::Path;

use lazaret_transfer::WorkspaceDir;

use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};

/// Opens the workspace at `path`, relative to the current directory. This is the one
/// place of the launcher where a host path becomes a capability.
///
/// # Errors
/// Names what is wrong: missing, not a directory, unreadable, `/`, the home directory or
/// a directory that contains it.
pub fn open(path: &Path, env: &Environment) -> Result<WorkspaceDir, Failure> {
    let shown = path.display().to_string();
    let refuse = |reason: &str| {
        Failure::message(
            FailureKind::Workspace,
            format!("the workspace {shown} {reason}"),
        )
    };
    let unreadable = |error: io::Error| {
        Failure::new(FailureKind::Workspace, error)
            .context(format!("the workspace {shown} can't be read"))
    };
    let workspace = WorkspaceDir::open_ambient(&env.cwd.join(path)).map_err(|error| match error
        .source
        .kind()
    {
        io::ErrorKind::NotFound => refuse("does not exist")
            .hinted("Name the directory that you work in with --workspace DIR."),
        io::ErrorKind::NotADirectory => refuse("is not a directory"),
        _ => unreadable(error.source),
    })?;
    let real = workspace.path();
    let hint = "Choose the directory of one project: everything below the workspace is copied in.";
    if real.parent().is_none() {
        return Err(refuse("is the root directory").hinted(hint));
    }
    let home = env
        .home()
        .ok()
        .and_then(|home| std::fs::canonicalize(home).ok());
    if let Some(home) = home {
        if real == home {
            return Err(refuse("is your home directory").hinted(hint));
        }
        if home.starts_with(real) {
            return Err(refuse("contains your home directory").hinted(hint));
        }
    }
    // A directory that may be entered but not listed opens, and then reads as an error.
    drop(std::fs::read_dir(real).map_err(unreadable)?);
    Ok(workspace)
}
