//! The safety check of the workspace: what lazaret refuses to work in.

use std::io;
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::failure::{Failure, FailureKind};

/// A directory that may be a workspace: absolute, resolved, readable, and neither `/`
/// nor the home directory nor a parent of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspacePath(PathBuf);

impl WorkspacePath {
    /// Returns the resolved path.
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

/// Checks `path` (relative to the current directory).
///
/// # Errors
/// Names what is wrong: missing, not a directory, unreadable, `/`, the home directory.
pub fn check(path: &Path, env: &Environment) -> Result<WorkspacePath, Failure> {
    let shown = path.display().to_string();
    let refuse = |reason: &str| {
        Failure::message(
            FailureKind::Workspace,
            format!("the workspace {shown} {reason}"),
        )
    };
    let real = match std::fs::canonicalize(env.cwd.join(path)) {
        Ok(real) => real,
        Err(error) => {
            return Err(match error.kind() {
                io::ErrorKind::NotFound => refuse("does not exist")
                    .hinted("Name the directory that you work in with --workspace DIR."),
                io::ErrorKind::NotADirectory => refuse("is not a directory"),
                _ => Failure::new(FailureKind::Workspace, error)
                    .context(format!("the workspace {shown} can't be read")),
            });
        }
    };
    if !real.is_dir() {
        return Err(refuse("is not a directory"));
    }
    let hint = "Choose the directory of one project: everything below the workspace is copied in.";
    if real.parent().is_none() {
        return Err(refuse("is the root directory").hinted(hint));
    }
    if let Some(home) = env
        .home()
        .ok()
        .and_then(|home| std::fs::canonicalize(home).ok())
    {
        if real == home {
            return Err(refuse("is your home directory").hinted(hint));
        }
        if home.starts_with(&real) {
            return Err(refuse("contains your home directory").hinted(hint));
        }
    }
    std::fs::read_dir(&real).map_err(|error| {
        Failure::new(FailureKind::Workspace, error)
            .context(format!("the workspace {shown} can't be read"))
    })?;
    Ok(WorkspacePath(real))
}
