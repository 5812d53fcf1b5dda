//! Copies files from a project into a new workspace, through no link.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use lazaret_tree::RelPath;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, mkdirat, openat, unlinkat};
use rustix::io::Errno;

use super::access::open_dir;

/// The most entries of a copy.
const MOST_ENTRIES: u32 = 10_000;
/// The most bytes of a copy.
const MOST_BYTES: u64 = 64 << 20;
/// How many directories deep a copy may be.
const MOST_DEPTH: u32 = 64;

/// What may still be copied.
#[derive(Debug)]
pub(super) struct Room {
    entries: u32,
    bytes: u64,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            entries: MOST_ENTRIES,
            bytes: MOST_BYTES,
        }
    }
}

/// Whether something was there to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Copied {
    Yes,
    Missing,
}

/// Copies `path`, with all below it, from one directory to the same place in another.
///
/// # Errors
/// It leads through a link or is one, is no file or directory, or is too large.
pub(super) fn copy(
    from: impl AsFd,
    to: impl AsFd,
    path: &RelPath,
    room: &mut Room,
) -> io::Result<Copied> {
    let mut names: Vec<&str> = path.as_str().split('/').collect();
    let Some(last) = names.pop() else {
        return Ok(Copied::Missing);
    };
    let (mut from, mut to) = (open_dir(from, here())?, open_dir(to, here())?);
    for name in names {
        from = match open_dir(&from, Path::new(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Copied::Missing),
            opened => opened?,
        };
        make_dir(&to, name.as_bytes())?;
        to = open_dir(&to, Path::new(name))?;
    }
    match entry(&from, &to, last.as_bytes(), room, MOST_DEPTH) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Copied::Missing),
        copied => copied.map(|()| Copied::Yes),
    }
}

fn here() -> &'static Path {
    Path::new(".")
}

fn make_dir(at: &OwnedFd, name: &[u8]) -> io::Result<()> {
    match mkdirat(at, name, Mode::from_raw_mode(0o777)) {
        Err(Errno::EXIST) => Ok(()),
        made => Ok(made?),
    }
}

/// Copies one entry, which a directory holds under the same name.
fn entry(from: &OwnedFd, to: &OwnedFd, name: &[u8], room: &mut Room, depth: u32) -> io::Result<()> {
    let too_large = || io::Error::other("more is to be copied than a workspace may begin with");
    room.entries = room.entries.checked_sub(1).ok_or_else(too_large)?;
    // A FIFO must not block the open, nor a link lead anywhere.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = match openat(from, name, flags | OFlags::CLOEXEC, Mode::empty()) {
        Err(Errno::LOOP) => return Err(io::Error::other("it is a link, or holds one")),
        opened => opened?,
    };
    let found = fstat(&opened)?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => {
            let depth = depth.checked_sub(1).ok_or_else(too_large)?;
            make_dir(to, name)?;
            let to = open_dir(to, Path::new(std::ffi::OsStr::from_bytes(name)))?;
            for child in Dir::read_from(&opened)? {
                let child = child?;
                let name = child.file_name().to_bytes();
                if name != b"." && name != b".." {
                    entry(&opened, &to, name, room, depth)?;
                }
            }
            Ok(())
        }
        FileType::RegularFile => {
            let is_program = found.st_mode & 0o100 != 0;
            let mode = Mode::from_raw_mode(if is_program { 0o777 } else { 0o666 });
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let mut target = File::from(openat(to, name, flags, mode)?);
            let limit = room.bytes + 1;
            let copied = io::copy(&mut File::from(opened).take(limit), &mut target)?;
            room.bytes = room.bytes.checked_sub(copied).ok_or_else(too_large)?;
            target.sync_all()
        }
        _ => Err(io::Error::other("it is, or holds, no file or directory")),
    }
}

/// Removes a directory that was being made, with all in it.
pub(super) fn remove(at: &OwnedFd, name: &str) -> io::Result<()> {
    remove_entry(at, name.as_bytes(), MOST_DEPTH + 2)
}

fn remove_entry(at: &OwnedFd, name: &[u8], depth: u32) -> io::Result<()> {
    match unlinkat(at, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) if depth > 0 => {}
        removed => return Ok(removed?),
    }
    let dir = open_dir(at, Path::new(std::ffi::OsStr::from_bytes(name)))?;
    let children: Vec<_> = Dir::read_from(&dir)?.collect::<Result<_, _>>()?;
    for child in children {
        let name = child.file_name().to_bytes();
        if name != b"." && name != b".." {
            remove_entry(&dir, name, depth - 1)?;
        }
    }
    Ok(unlinkat(at, name, AtFlags::REMOVEDIR)?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn path(text: &str) -> lazaret_tree::RelPathBuf {
        text.parse().unwrap()
    }

    #[test]
    fn mcp_03_a_copy_follows_no_link_and_takes_files_alone() {
        let scratch = tempfile::tempdir().unwrap();
        let (from, to) = (scratch.path().join("from"), scratch.path().join("to"));
        for dir in ["from/.factory/a", "to", "outside"] {
            fs::create_dir_all(scratch.path().join(dir)).unwrap();
        }
        fs::write(from.join("AGENTS.md"), "be kind\n").unwrap();
        fs::write(from.join(".factory/a/b"), "b").unwrap();
        fs::write(scratch.path().join("outside/secret"), "s").unwrap();
        std::os::unix::fs::symlink("../outside/secret", from.join("link")).unwrap();
        std::os::unix::fs::symlink("../outside", from.join("dirlink")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, from.join("fifo"), Mode::RUSR).unwrap();
        let open = |path: &Path| open_dir(rustix::fs::CWD, path).unwrap();
        let copied = |name: &str| copy(open(&from), open(&to), &path(name), &mut Room::default());
        assert_eq!(copied("AGENTS.md").unwrap(), Copied::Yes);
        assert_eq!(copied(".factory").unwrap(), Copied::Yes);
        assert_eq!(copied("missing/x").unwrap(), Copied::Missing);
        for bad in ["link", "dirlink", "dirlink/secret", "fifo", "AGENTS.md"] {
            assert!(copied(bad).is_err(), "{bad}");
        }
        assert_eq!(
            fs::read_to_string(to.join("AGENTS.md")).unwrap(),
            "be kind\n"
        );
        assert_eq!(fs::read_to_string(to.join(".factory/a/b")).unwrap(), "b");
        assert!(!to.join("link").exists() && !to.join("fifo").exists());
        let mut none = Room {
            entries: 2,
            bytes: 9,
        };
        fs::create_dir(scratch.path().join("small")).unwrap();
        let small = open(&scratch.path().join("small"));
        assert!(copy(open(&from), &small, &path(".factory"), &mut none).is_err());
        remove(&open(scratch.path()), "to").unwrap();
        assert!(!to.exists());
    }
}
