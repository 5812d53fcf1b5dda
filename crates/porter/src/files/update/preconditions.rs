//! Whether a volume is what an update rests on.

use lazaret_protocol::{ExpectedEntry, PreconditionResult, Preconditions, VolumeIdentity};
use lazaret_tree::RelPath;
use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;

use crate::files::root::Root;

/// Looks at every path that was named, and at no other. What can't be looked at is not as it
/// was believed to be.
pub(super) fn judge(root: &Root, preconditions: &Preconditions) -> PreconditionResult {
    let mut paths = preconditions.0.iter();
    let holds = paths.all(|(path, expected)| match (expected, look(root, path)) {
        // Nor is anything below a file or a link, which is named itself.
        (ExpectedEntry::Nothing, Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) => true,
        (ExpectedEntry::Dir, Ok(stat)) => {
            FileType::from_raw_mode(stat.st_mode) == FileType::Directory
        }
        (ExpectedEntry::Entry(identity), Ok(stat)) => VolumeIdentity::from(&stat) == *identity,
        _ => false,
    });
    match holds {
        true => PreconditionResult::Met,
        false => PreconditionResult::Failed,
    }
}

fn look(root: &Root, path: &RelPath) -> Result<Stat, Errno> {
    let name = path.file_name();
    match path.parent() {
        None => rustix::fs::statat(root, name, AtFlags::SYMLINK_NOFOLLOW),
        Some(parent) => {
            let parent = root.open_dir(parent)?;
            rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
        }
    }
}
