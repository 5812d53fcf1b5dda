//! The submodules of a repository whose files lie in the workspace.

use std::path::{Component, Path, PathBuf};

use lazaret_tree::{RelPath, RelPathBuf};

use super::{Repository, config, pointer};
use crate::WorkspaceDir;

/// A submodule that is checked out: its repository and its directory name each other.
#[derive(Debug)]
pub struct Module {
    /// Its name: where it lies below `modules`.
    pub name: RelPathBuf,
    /// Its directory, below the workspace.
    pub path: RelPathBuf,
    /// Its repository.
    pub repository: Repository,
}

/// Finds the submodules below `own`, by name.
///
/// What does not fit together, or can't be read, is no submodule: its `.git` stays out and
/// is reported where the walk meets it.
pub(super) fn find(workspace: &WorkspaceDir, own: &WorkspaceDir) -> Vec<Module> {
    let mut found = Vec::new();
    let modules = RelPath::new("modules").map(|name| own.subdir(name));
    if let Ok(Ok(modules)) = modules {
        collect(workspace, &modules, None, &mut found);
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn collect(
    workspace: &WorkspaceDir,
    modules: &WorkspaceDir,
    above: Option<&RelPath>,
    found: &mut Vec<Module>,
) {
    let Ok(entries) = rustix::fs::Dir::read_from(modules.fd()) else {
        return;
    };
    for entry in entries.flatten() {
        let Ok(name) = RelPath::from_bytes(entry.file_name().to_bytes()) else {
            continue;
        };
        // Through the descriptor, never through a link.
        let (Ok(dir), Ok(full)) = (
            modules.subdir(name),
            above.map_or(Ok(name.to_owned()), |above| above.join(name.as_str())),
        ) else {
            continue;
        };
        match dir.has("HEAD") {
            true => found.extend(module(workspace, dir, full)),
            false => collect(workspace, &dir, Some(&full), found),
        }
    }
}

/// Opens the submodule whose repository is `own`, if both sides agree.
fn module(workspace: &WorkspaceDir, own: WorkspaceDir, name: RelPathBuf) -> Option<Module> {
    let config = own.small("config")?;
    let worktree = config::value(&config, "core", "worktree")?;
    let worktree = normal(&own.path().join(worktree))?;
    let path = worktree.strip_prefix(workspace.path()).ok()?.to_str()?;
    let path = RelPath::new(path).ok()?;
    if path.components().any(|component| component == ".git") {
        return None;
    }
    let pointer = workspace.small(&format!("{path}/.git"))?;
    let target = normal(&worktree.join(pointer::target(&pointer)?))?;
    if target != own.path() {
        return None;
    }
    Some(Module {
        name,
        path: path.to_owned(),
        repository: Repository::directory(workspace, own).ok()?,
    })
}

/// Resolves `.` and `..` of an absolute path by name.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                if !normal.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    Some(normal)
}
