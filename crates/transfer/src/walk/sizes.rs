//! `larger_than`: files that are too large to go in, found without opening one.

use std::os::fd::OwnedFd;

use lazaret_protocol::FileTime;
use lazaret_tree::{LinkTarget, RelPath, SizedFile};
use rustix::fs::{AtFlags, Stat};

use super::WalkError;
use super::open::OpenDir;
use super::traverse::{size, traverse};
use super::visitor::{KeyCheck, Visitor};
use crate::{FileSelector, WorkspaceDir};

/// Returns the files below `workspace` that `selector` takes in and that have more than `limit`
/// bytes, in path order. It is the walk of [`pack`](crate::pack).
///
/// # Errors
/// The first directory that cannot be read.
pub fn larger_than(
    limit: u64,
    workspace: &WorkspaceDir,
    selector: &FileSelector,
) -> Result<Vec<SizedFile>, WalkError> {
    let mut visitor = Large {
        limit,
        found: Vec::new(),
    };
    traverse(workspace, selector, &mut visitor)?;
    Ok(visitor.found)
}

struct Large {
    limit: u64,
    found: Vec<SizedFile>,
}

impl Large {
    fn look(&mut self, path: &RelPath, stat: &Stat) {
        let bytes = size(stat);
        if bytes > self.limit {
            let path = path.to_owned();
            self.found.push(SizedFile { path, bytes });
        }
    }
}

impl Visitor for Large {
    type Error = WalkError;

    fn dir(&mut self, _: &RelPath) -> Result<(), WalkError> {
        Ok(())
    }

    fn symlink(&mut self, _: &RelPath, _: LinkTarget, _: FileTime) -> Result<(), WalkError> {
        Ok(())
    }

    fn takes(&mut self, path: &RelPath, dir: &OpenDir, _: KeyCheck) -> Result<bool, WalkError> {
        // One that is gone by now is for the copy to find.
        if let Ok(stat) = rustix::fs::statat(dir.fd(), path.file_name(), AtFlags::SYMLINK_NOFOLLOW)
        {
            self.look(path, &stat);
        }
        Ok(true)
    }

    fn file(
        &mut self,
        path: &RelPath,
        _: OwnedFd,
        stat: &Stat,
        _: KeyCheck,
    ) -> Result<(), WalkError> {
        self.look(path, stat);
        Ok(())
    }

    fn made(&mut self, _: &RelPath, _: &[u8]) -> Result<(), WalkError> {
        Ok(())
    }
}
