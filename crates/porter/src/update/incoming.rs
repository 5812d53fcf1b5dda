//! Where files are written before they get their names.

use std::os::fd::OwnedFd;

use lazaret_tree::RESERVED_NAME;
use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use crate::empty::{Rights, empty};
use crate::root::{self, Root};

/// Makes the directory, which is not there.
pub(super) fn make(root: &Root) -> Result<OwnedFd, Errno> {
    rustix::fs::mkdirat(root, RESERVED_NAME, Mode::RWXU)?;
    root::open_dir(root, RESERVED_NAME)
}

/// Removes whatever lies under the name: what an update left, or what the agent put there,
/// however deep that is.
pub(super) fn clear(root: &Root) -> Result<(), Errno> {
    match rustix::fs::unlinkat(root, RESERVED_NAME, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(errno) => return Err(errno),
    }
    let top = Rights::Owned.open(root, RESERVED_NAME)?;
    empty(&top, Rights::Owned)?;
    rustix::fs::unlinkat(root, RESERVED_NAME, AtFlags::REMOVEDIR)
}
