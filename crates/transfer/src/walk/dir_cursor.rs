//! `DirCursor`: the directories on the way to one path after the other.

use std::ffi::CString;

use lazaret_tree::RelPath;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::open::{OpenDir, OpenError, open_below};
use crate::WorkspaceDir;

/// Opens the directories that paths lie in, step by step, through no link and into no other
/// mount; of neighbours in path order each is opened once.
pub(super) struct DirCursor {
    root: OpenDir,
    /// The path of the lowest directory that is open.
    path: String,
    /// The directories below the root, each with the length of its path.
    open: Vec<(usize, OpenDir)>,
}

impl DirCursor {
    pub(super) fn open(workspace: &WorkspaceDir) -> Result<Self, OpenError> {
        let device = workspace.identity().dev;
        let root = open_below(workspace.fd(), c".", OFlags::DIRECTORY, device)?;
        Ok(Self {
            root: OpenDir::new(root, device),
            path: String::new(),
            open: Vec::new(),
        })
    }

    /// Returns the directory that `path` lies in.
    pub(super) fn parent_of(&mut self, path: &RelPath) -> Result<&OpenDir, OpenError> {
        let parent = path.parent().map_or("", RelPath::as_str);
        while let Some(&(length, _)) = self.open.last() {
            self.path.truncate(length);
            let below = parent.strip_prefix(&*self.path);
            if below.is_some_and(|below| below.is_empty() || below.starts_with('/')) {
                break;
            }
            self.open.pop();
        }
        let mut at = self.open.last().map_or(0, |&(length, _)| length);
        while at < parent.len() {
            let start = if at == 0 { 0 } else { at + 1 };
            let end = parent[start..]
                .find('/')
                .map_or(parent.len(), |slash| start + slash);
            let name = CString::new(&parent[start..end]).map_err(|_| Errno::INVAL)?;
            let above = self.lowest();
            let dir = open_below(above.fd(), &name, OFlags::DIRECTORY, above.device())?;
            self.open.push((end, OpenDir::new(dir, self.root.device())));
            parent[..end].clone_into(&mut self.path);
            at = end;
        }
        Ok(self.lowest())
    }

    fn lowest(&self) -> &OpenDir {
        self.open.last().map_or(&self.root, |(_, dir)| dir)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_path_is_looked_for_in_its_own_directory() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for below in ["a/b/c", "ab", "a/bc", "z/y"] {
            fs::create_dir_all(root.join(below)).unwrap();
        }
        symlink("a", root.join("link")).unwrap();
        let workspace = WorkspaceDir::open_ambient(root).unwrap();
        let mut cursor = DirCursor::open(&workspace).unwrap();
        let inode = |dir: &OpenDir| rustix::fs::fstat(dir.fd()).unwrap().st_ino;
        for path in [
            "top", "a/1", "a/b/2", "a/b/c/3", "a/bc/4", "ab/5", "z/y/6", "a/b/c/7", "ab/8", "top",
        ] {
            let path = RelPath::new(path).unwrap();
            let parent = path.parent().map_or("", RelPath::as_str);
            let expected = rustix::fs::stat(root.join(parent)).unwrap().st_ino;
            assert_eq!(inode(cursor.parent_of(path).unwrap()), expected, "{path}");
        }
        // What can't be opened is no obstacle for the next one.
        for (path, errno) in [
            ("gone/x", Errno::NOENT),
            ("a/b/gone/x", Errno::NOENT),
            ("link/b/x", Errno::NOTDIR),
        ] {
            let path = RelPath::new(path).unwrap();
            let error = cursor.parent_of(path).map(inode).unwrap_err();
            assert_eq!(error, OpenError::Errno(errno), "{path}");
            let next = RelPath::new("a/b/c/3").unwrap();
            let expected = rustix::fs::stat(root.join("a/b/c")).unwrap().st_ino;
            assert_eq!(inode(cursor.parent_of(next).unwrap()), expected);
        }
    }
}
