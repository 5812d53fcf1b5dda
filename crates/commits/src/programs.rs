//! Programs of the user's `PATH`, found so that none of them lies in a workspace: an agent's
//! changes could have put one there.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The directories of a `PATH` that are absolute and lie outside of a workspace.
#[derive(Debug, Clone)]
pub struct OutsidePath {
    workspace: PathBuf,
    dirs: Vec<PathBuf>,
}

impl OutsidePath {
    /// Takes the directories of `search_path`.
    pub fn of(search_path: &OsStr, workspace: &Path) -> Self {
        let is_outside = |dir: &PathBuf| {
            dir.is_absolute() && fs::canonicalize(dir).is_ok_and(|dir| !dir.starts_with(workspace))
        };
        let dirs = std::env::split_paths(search_path);
        Self {
            workspace: workspace.to_owned(),
            dirs: dirs.filter(is_outside).collect(),
        }
    }

    /// Returns the directories, in order.
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// Looks for a program; one that a link leads to in the workspace is none. It is returned by
    /// the name under which it was found, which some programs act by.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        self.dirs.iter().map(|dir| dir.join(name)).find(|program| {
            let target = fs::canonicalize(program);
            target.is_ok_and(|target| !target.starts_with(&self.workspace) && is_program(&target))
        })
    }
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn install(dir: &Path, name: &str) {
        fs::create_dir_all(dir).unwrap();
        let program = dir.join(name);
        fs::write(&program, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn no_program_of_the_workspace_is_found() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let (workspace, bin) = (root.join("workspace"), root.join("bin"));
        install(&workspace.join("bin"), "git");
        install(&bin, "other");
        symlink(workspace.join("bin/git"), bin.join("git")).unwrap();
        symlink(workspace.join("bin"), root.join("link")).unwrap();
        fs::write(bin.join("text"), "").unwrap();
        let path = |dirs: &[&Path]| std::env::join_paths(dirs).unwrap();
        let search = path(&[
            &workspace.join("bin"),
            &root.join("link"),
            Path::new("bin"),
            &root.join("none"),
            &bin,
        ]);
        let outside = OutsidePath::of(&search, &workspace);
        assert_eq!(outside.dirs(), std::slice::from_ref(&bin));
        assert_eq!(outside.find("git"), None);
        assert_eq!(outside.find("text"), None);
        assert_eq!(outside.find("other"), Some(bin.join("other")));
    }
}
