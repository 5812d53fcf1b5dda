//! `.git` files, and whether what they name points back.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use lazaret_tree::RelPath;

use super::{GitProblem, config};
use crate::{FileIdentity, WorkspaceDir};

/// Reads what a `.git` file names.
pub(super) fn target(contents: &[u8]) -> Option<PathBuf> {
    line(contents.strip_prefix(b"gitdir: ")?)
}

/// The one path that a file of git's holds.
fn line(contents: &[u8]) -> Option<PathBuf> {
    let end = contents
        .iter()
        .rposition(|byte| !matches!(byte, b'\n' | b'\r'))?;
    let path = &contents[..=end];
    let plain = !path.iter().any(|byte| matches!(byte, 0 | b'\n'));
    plain.then(|| PathBuf::from(OsStr::from_bytes(path)))
}

/// The directories of a repository that a `.git` file names.
#[derive(Debug)]
pub(super) struct Pointed {
    pub(super) own: WorkspaceDir,
    /// Where that is another one.
    pub(super) common: Option<WorkspaceDir>,
}

/// Follows the workspace's `.git` file.
///
/// The file names a directory outside the workspace. A process that can write the workspace could
/// name the repository of any project. So that directory counts only if it names the workspace in
/// turn: for a worktree in its `gitdir` file, for a submodule in its `core.worktree`. A worktree's
/// repository is the one that contains its directory, never one that a file names.
pub(super) fn follow(workspace: &WorkspaceDir, contents: &[u8]) -> Result<Pointed, GitProblem> {
    let target = target(contents).ok_or(GitProblem::NoPointer)?;
    let own = WorkspaceDir::open_ambient(&workspace.path().join(target))
        .map_err(|_| GitProblem::Missing)?;
    if !own.has("commondir") {
        let config = own.small("config").ok_or(GitProblem::NoWayBack)?;
        let worktree = config::value(&config, "core", "worktree").ok_or(GitProblem::NoWayBack)?;
        return match is(&own.path().join(worktree), workspace.identity()) {
            true => Ok(Pointed { own, common: None }),
            false => Err(GitProblem::NoWayBack),
        };
    }
    let back = own.small("gitdir").and_then(|back| line(&back));
    let back = back.ok_or(GitProblem::NoWayBack)?;
    let back = own.path().join(back);
    let above = back.parent().ok_or(GitProblem::NoWayBack)?;
    if back.file_name() != Some(OsStr::new(".git")) || !is(above, workspace.identity()) {
        return Err(GitProblem::NoWayBack);
    }
    let common = common(&own).ok_or(GitProblem::NoWayBack)?;
    Ok(Pointed {
        own,
        common: Some(common),
    })
}

/// The repository that a worktree's `worktrees/<id>` lies in.
fn common(own: &WorkspaceDir) -> Option<WorkspaceDir> {
    if line(&own.small("commondir")?)? != Path::new("../..") {
        return None;
    }
    let id = own.path().file_name()?.to_str()?;
    let common = WorkspaceDir::open_ambient(own.path().parent()?.parent()?).ok()?;
    let again = common.subdir(&RelPath::new("worktrees").ok()?.join(id).ok()?);
    let is_same = again.is_ok_and(|again| again.identity() == own.identity());
    is_same.then_some(common)
}

fn is(path: &Path, identity: FileIdentity) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| {
        let (dev, ino) = (metadata.dev(), metadata.ino());
        FileIdentity { dev, ino } == identity
    })
}
