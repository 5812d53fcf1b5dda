//! What the stream brings, into its place.

use std::fs::File;
use std::os::fd::{BorrowedFd, OwnedFd};

use lazaret_protocol::{Member, MemberKind, MemberPath, Receipt, VolumeIdentity};
use lazaret_tree::{Digest, Entry, RelPath, RelPathBuf, Tree};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::dirs::Dirs;
use super::times::Times;
use super::{UpdateError, incoming};
use crate::files::root::Root;
use crate::files::stream_input::{self, BUFFER, BodyError, Stream, modified};

/// The one name in the directory for what is incoming: a file leaves it before the next.
const NAME: &str = "0";

/// Writes everything that was ordered, and nothing else.
pub(super) fn all(
    root: &Root,
    dirs: &mut Dirs<'_>,
    ordered: &Tree,
    times: Times,
    stdin: File,
) -> Result<Receipt, UpdateError> {
    let mut members = stream_input::stream(stdin);
    let made = dirs.as_owner(None, |_| incoming::make(root));
    let mut writing = Writing {
        dirs,
        incoming: made.map_err(|errno| UpdateError::Leftovers(errno.into()))?,
        times,
        identities: Vec::with_capacity(ordered.len()),
        buffer: vec![0; BUFFER],
    };
    let mut expected = ordered.iter();
    while let Some(member) = members.next()? {
        let MemberPath::Good(path) = &member.path else {
            let name = member.path.as_bytes().to_vec();
            return Err(UpdateError::Unexpected { name });
        };
        match expected.next() {
            Some((ordered, entry)) if **path == *ordered => {
                writing.take(ordered, entry, &member, &mut members)?;
            }
            _ => return Err(UpdateError::unexpected(path)),
        }
    }
    let arrived = members.finish_trailer()?;
    if let Some((path, _)) = expected.next() {
        return Err(UpdateError::missing(path));
    }
    let identities = writing.identities.into_iter().collect();
    let cleared = incoming::clear(root);
    cleared.map_err(|errno| UpdateError::Leftovers(errno.into()))?;
    Ok(Receipt {
        arrived,
        identities,
    })
}

struct Writing<'a, 'r> {
    dirs: &'a mut Dirs<'r>,
    incoming: OwnedFd,
    times: Times,
    identities: Vec<(RelPathBuf, VolumeIdentity)>,
    buffer: Vec<u8>,
}

impl Writing<'_, '_> {
    fn take(
        &mut self,
        path: &RelPath,
        ordered: &Entry,
        member: &Member,
        stream: &mut Stream,
    ) -> Result<(), UpdateError> {
        let failed = |errno| UpdateError::at(path, errno);
        let mtime = modified(self.times.of(path, member.mtime));
        let identity = match (ordered, &member.kind) {
            (Entry::Dir, MemberKind::Dir) => {
                let made = self.dirs.in_parent(path, |parent| make_dir(parent, path));
                made.map_err(failed)?
            }
            (Entry::File { mode, size, digest }, MemberKind::File { mode: m, size: s })
                if (mode, size) == (m, s) =>
            {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
                let bits = Mode::from_raw_mode(mode.to_unix());
                let file = rustix::fs::openat(&self.incoming, NAME, flags | OFlags::CLOEXEC, bits);
                let mut file = File::from(file.map_err(failed)?);
                let mut hasher = blake3::Hasher::new();
                let tee = |piece: &[u8]| {
                    hasher.update(piece);
                };
                let written = stream_input::write_body(stream, &mut file, &mut self.buffer, tee);
                written.map_err(|error| match error {
                    BodyError::Stream(error) => error.into(),
                    BodyError::Write(source) => UpdateError::Write {
                        name: path.as_str().as_bytes().to_vec(),
                        source,
                    },
                })?;
                // What the host has not written down must not get a name.
                if Digest::from(hasher.finalize()) != *digest {
                    return Err(UpdateError::unexpected(path));
                }
                rustix::fs::futimens(&file, &mtime).map_err(failed)?;
                self.place(path).map_err(failed)?
            }
            (Entry::Symlink { target }, MemberKind::Symlink { target: Ok(t) }) if target == t => {
                let nofollow = AtFlags::SYMLINK_NOFOLLOW;
                rustix::fs::symlinkat(target.as_str(), &self.incoming, NAME)
                    .and_then(|()| rustix::fs::utimensat(&self.incoming, NAME, &mtime, nofollow))
                    .map_err(failed)?;
                self.place(path).map_err(failed)?
            }
            _ => return Err(UpdateError::unexpected(path)),
        };
        self.identities.push((path.to_owned(), identity));
        Ok(())
    }

    /// Gives what was written its name. Whatever had it before is gone at once, unless that
    /// is a directory.
    fn place(&mut self, path: &RelPath) -> Result<VolumeIdentity, Errno> {
        let incoming = &self.incoming;
        self.dirs.in_parent(path, |parent| {
            let name = path.file_name();
            rustix::fs::renameat(incoming, NAME, parent, name)?;
            let stat = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
            Ok(VolumeIdentity::from(&stat))
        })
    }
}

fn make_dir(parent: BorrowedFd<'_>, path: &RelPath) -> Result<VolumeIdentity, Errno> {
    let name = path.file_name();
    rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o755))?;
    let stat = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Ok(VolumeIdentity::from(&stat)),
        _ => Err(Errno::NOTDIR),
    }
}
