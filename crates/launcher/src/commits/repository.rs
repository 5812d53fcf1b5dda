//! Where the repository lies inside, and the git of the user's that works on its commits.

use lazaret_commits::git::Git;
use lazaret_transfer::WorkspaceDir;
use lazaret_tree::{RelPath, RelPathBuf};

use crate::app::App;
use crate::failure::{Failure, FailureKind};

/// Finds the user's git, and nothing in the workspace that has its name.
pub(crate) fn find_git(app: &App, workspace: &WorkspaceDir) -> Option<Git> {
    let search_path = app.env.for_detection().path.unwrap_or_default();
    Git::find(&search_path, workspace.path())
}

/// Returns where the repository lies inside, from the workspace's root.
pub(crate) fn repository_inside() -> Result<RelPathBuf, Failure> {
    let path = RelPath::new(".git").map(ToOwned::to_owned);
    path.map_err(|error| Failure::new(FailureKind::Internal, error))
}
