//! Where files are written before they get their names.

use std::os::fd::OwnedFd;

use lazaret_tree::INCOMING_DIR;
use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use crate::files::empty::{Rights, empty};
use crate::files::root::{self, Root};

/// Makes the directory, which is not there.
pub(super) fn make(root: &Root) -> Result<OwnedFd, Errno> {
    rustix::fs::mkdirat(root, INCOMING_DIR, Mode::RWXU)?;
    root::open_dir(root, INCOMING_DIR)
}

/// Removes whatever lies under the name: what an update left, or what the agent put there,
/// however deep that is.
pub(super) fn clear(root: &Root) -> Result<(), Errno> {
    match rustix::fs::unlinkat(root, INCOMING_DIR, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(errno) => return Err(errno),
    }
    let top = Rights::Owned.open(root, INCOMING_DIR)?;
    empty(&top, Rights::Owned)?;
    rustix::fs::unlinkat(root, INCOMING_DIR, AtFlags::REMOVEDIR)
}
