//! The user's git, found by the environment and ended with the launcher.

use std::path::Path;

pub(super) use lazaret_commits::git::Ended;
use lazaret_commits::git::{Git, GitError};
use lazaret_transfer::WorkspaceDir;

use crate::environment::Environment;
use lazaret_session::cancel::Cancel;

/// The program.
#[derive(Debug)]
pub(super) struct Program {
    git: Git,
}

impl Program {
    /// Looks for `git` in `PATH`, outside of the workspace.
    pub(super) fn find(env: &Environment, workspace: &WorkspaceDir) -> Option<Self> {
        let path = env.for_detection().path?;
        Git::find(&path, workspace.path()).map(|git| Self { git })
    }

    /// Runs a command on the repository `dir`, in it.
    pub(super) fn run(
        &self,
        dir: &Path,
        index: Option<&Path>,
        arguments: &[&str],
        stdin: &str,
        cancel: &Cancel,
    ) -> Result<Ended, GitError> {
        let mut call = self.git.call(dir, arguments);
        if let Some(index) = index {
            call = call.env("GIT_INDEX_FILE", index);
        }
        call.run(&mut stdin.as_bytes(), &|| cancel.check().is_err())
    }
}
