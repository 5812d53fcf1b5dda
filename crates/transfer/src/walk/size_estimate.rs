//! `weigh`: how much lies in what stays out.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, OFlags};

use super::open::open_below;
use super::size;
use crate::{Skipped, WorkspaceDir};

/// What lies in a directory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SizeEstimate {
    /// Entries of every kind.
    pub entries: u64,
    /// Bytes of regular files; a file with two names counts twice.
    pub bytes: u64,
}

/// Weighs what a walk left out, as long as that is cheap.
#[derive(Debug)]
pub struct SizeEstimator<'a> {
    workspace: &'a WorkspaceDir,
    left: u64,
}

impl<'a> SizeEstimator<'a> {
    /// Looks at `names` names at most.
    pub fn new(workspace: &'a WorkspaceDir, names: u64) -> Self {
        Self {
            workspace,
            left: names,
        }
    }

    /// Weighs one thing: a regular file by its size, a directory by what lies in it, on its
    /// own file system and without following a link. `None` for anything else, for what
    /// can't be read, and when there are more names than were still to be looked at.
    pub fn estimate(&mut self, skipped: &Skipped) -> Option<SizeEstimate> {
        if let Some(bytes) = skipped.bytes {
            return Some(SizeEstimate { entries: 1, bytes });
        }
        let device = self.workspace.identity().dev;
        let mut open: Option<OwnedFd> = None;
        for name in skipped.name.split(|&byte| byte == b'/') {
            let name = CString::new(name).ok()?;
            let above = open.as_ref().map_or(self.workspace.fd(), |fd| fd.as_fd());
            let next = open_below(above, &name, OFlags::DIRECTORY, device).ok()?;
            open = Some(next);
        }
        let mut estimate = SizeEstimate::default();
        self.add(open?, device, &mut estimate)?;
        Some(estimate)
    }

    fn add(&mut self, dir: OwnedFd, device: u64, estimate: &mut SizeEstimate) -> Option<()> {
        let mut dir = Dir::new(dir).ok()?;
        let mut below: Vec<CString> = Vec::new();
        while let Some(entry) = dir.read() {
            let entry = entry.ok()?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            self.left = self.left.checked_sub(1)?;
            estimate.entries += 1;
            let fd = dir.fd().ok()?;
            match entry.file_type() {
                FileType::Directory => below.push(name.to_owned()),
                _ => estimate.bytes += file_bytes(fd, name),
            }
        }
        for name in below {
            let fd = dir.fd().ok()?;
            // What is mounted there is not in the way of the rest.
            if let Ok(next) = open_below(fd, &name, OFlags::DIRECTORY, device) {
                self.add(next, device, estimate)?;
            }
        }
        Some(())
    }
}

fn file_bytes(dir: BorrowedFd<'_>, name: &CStr) -> u64 {
    match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_file() => size(&stat),
        _ => 0,
    }
}
