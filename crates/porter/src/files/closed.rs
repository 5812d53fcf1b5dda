//! Files that their owner, who the porter is, may not read.

use std::os::fd::OwnedFd;

use lazaret_protocol::VolumeIdentity;
use lazaret_tree::RelPath;
use rustix::io::Errno;

use crate::files::root::{Root, chmod};

const OWNER_READS: u32 = 0o400;

/// Opens a file that is `wanted` but for the time of its last change of mode, and leaves the mode as
/// it was. Returns the identity that it has then.
pub(crate) fn open(
    root: &Root,
    path: &RelPath,
    wanted: VolumeIdentity,
) -> Result<(OwnedFd, VolumeIdentity), Errno> {
    let closed = root.open_any(path)?;
    let stat = rustix::fs::fstat(&closed)?;
    // Another name of it may have been read before.
    let found = VolumeIdentity {
        ctime: wanted.ctime,
        ..VolumeIdentity::from(&stat)
    };
    if found != wanted {
        return Err(Errno::NOENT);
    }
    chmod(&closed, stat.st_mode | OWNER_READS)?;
    let opened = root.open_file(path);
    chmod(&closed, stat.st_mode)?;
    let (open, _) = opened?;
    let now = rustix::fs::fstat(&open)?;
    match now.st_ino == stat.st_ino {
        true => Ok((open, VolumeIdentity::from(&now))),
        false => Err(Errno::NOENT),
    }
}
