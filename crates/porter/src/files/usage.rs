//! `porter usage ROOT [MORE…]`: how full volumes are together, as often as it is asked
//! ([`lazaret_protocol::usage`]).
//!
//! Runs in the exporter's container beside the command (CON-28). What it counts may change
//! meanwhile: the answer is what was seen, and the host asks again.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::io::{self, Read as _, Write as _};
use std::iter;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::ExitCode;

use lazaret_protocol::usage::{Amount, FREE, UsageReply};
use lazaret_tree::PathError;
use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;

use crate::files::root::{self, Root};

/// How many directories are open at once, beside the root.
const OPEN: usize = 64;

/// The size of a block (`man 3type stat`: `st_blocks`).
const BLOCK: u64 = 512;

#[derive(Debug, thiserror::Error)]
enum UsageError {
    #[error(transparent)]
    Root(#[from] PathError),
    #[error("stdin: {0}")]
    Stdin(#[source] io::Error),
    #[error("stdout: {0}")]
    Stdout(#[source] io::Error),
    #[error("the volume: {0}")]
    Volume(#[source] io::Error),
}

/// Runs the verb.
pub(crate) fn run(root: &str, more: &[String]) -> ExitCode {
    let paths = iter::once(root).chain(more.iter().map(String::as_str));
    crate::exit_with("usage", answer(paths))
}

fn answer<'a>(paths: impl Iterator<Item = &'a str>) -> Result<(), UsageError> {
    let roots = paths.map(|path| Root::open(Path::new(path)));
    let roots = roots.collect::<Result<Vec<_>, _>>()?;
    let (mut stdin, mut stdout) = (io::stdin(), io::stdout());
    let mut asked = [0];
    while stdin.read(&mut asked).map_err(UsageError::Stdin)? == 1 {
        let reply = match asked {
            [FREE] => free(&roots),
            _ => Walk::of(&roots),
        };
        let reply = reply.map_err(|errno| UsageError::Volume(errno.into()))?;
        writeln!(stdout, "{reply}").map_err(UsageError::Stdout)?;
        stdout.flush().map_err(UsageError::Stdout)?;
    }
    Ok(())
}

fn free(roots: &[Root]) -> Result<UsageReply, Errno> {
    let mut free = Amount::default();
    let mut seen = BTreeSet::new();
    for root in roots {
        // Volumes of one file system share what it has left.
        if seen.insert(rustix::fs::fstat(root)?.st_dev) {
            let file_system = rustix::fs::fstatvfs(root)?;
            let bytes = file_system.f_bfree.saturating_mul(file_system.f_frsize);
            free.bytes = free.bytes.saturating_add(bytes);
            free.inodes = free.inodes.saturating_add(file_system.f_ffree);
        }
    }
    Ok(UsageReply::Free(free))
}

/// A walk over volumes, however deep they are.
///
/// Only the directories nearest to where it is stay open. The way back to one that was closed is
/// `..`, which must lead to the same directory as before: the command may have moved it.
#[derive(Debug, Default)]
struct Walk {
    found: Amount,
    /// What has several names, and was counted: device and inode.
    shared: BTreeSet<(u64, u64)>,
    /// Directories that could not be looked into to their end.
    lost: u64,
}

impl Walk {
    fn of(roots: &[Root]) -> Result<UsageReply, Errno> {
        let mut walk = Self::default();
        roots.iter().try_for_each(|root| walk.add(root))?;
        Ok(match walk.lost {
            0 => UsageReply::Used(walk.found),
            _ => UsageReply::Part(walk.found),
        })
    }

    fn add(&mut self, root: &Root) -> Result<(), Errno> {
        self.count(&rustix::fs::fstat(root)?);
        let top = Level::of(root.reopen().map_err(|_| Errno::MFILE)?)?;
        let mut levels = vec![top];
        while let Some(level) = levels.last_mut() {
            let Some(dir) = &level.dir else {
                self.lost += 1;
                levels.pop();
                continue;
            };
            let Some(name) = level.names.pop() else {
                leave(&mut levels);
                continue;
            };
            // One that has just been removed, or replaced, is not there.
            let stat = rustix::fs::statat(dir, &*name, AtFlags::SYMLINK_NOFOLLOW);
            let Ok(stat) = stat else { continue };
            self.count(&stat);
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                continue;
            }
            match root::open_dir(dir, &name).and_then(Level::of) {
                Ok(inside) => enter(&mut levels, inside),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(_) => self.lost += 1,
            }
        }
        Ok(())
    }

    fn count(&mut self, stat: &Stat) {
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if !is_directory && stat.st_nlink > 1 && !self.shared.insert((stat.st_dev, stat.st_ino)) {
            return;
        }
        let blocks = u64::try_from(stat.st_blocks).unwrap_or_default();
        self.found.bytes = (self.found.bytes).saturating_add(blocks.saturating_mul(BLOCK));
        self.found.inodes += 1;
    }
}

/// A directory that is being looked into.
#[derive(Debug)]
struct Level {
    /// `None` while what lies deep below it is looked into, or if the way back to it is lost.
    dir: Option<OwnedFd>,
    /// Device and inode.
    identity: (u64, u64),
    /// Those that were not counted yet.
    names: Vec<CString>,
}

impl Level {
    fn of(dir: OwnedFd) -> Result<Self, Errno> {
        Ok(Self {
            identity: identity(&dir)?,
            names: root::names(&dir)?,
            dir: Some(dir),
        })
    }
}

fn identity(dir: &OwnedFd) -> Result<(u64, u64), Errno> {
    let stat = rustix::fs::fstat(dir)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// Goes down, and closes the highest directory that is open, but for the root.
fn enter(levels: &mut Vec<Level>, inside: Level) {
    levels.push(inside);
    if let Some(high) = levels.len().checked_sub(OPEN + 1)
        && high > 0
    {
        levels[high].dir = None;
    }
}

/// Goes up, and opens the directory there if it was closed.
fn leave(levels: &mut Vec<Level>) {
    let below = levels.pop().and_then(|level| level.dir);
    if let (Some(below), Some(level)) = (below, levels.last_mut())
        && level.dir.is_none()
    {
        let above = root::open_dir(&below, c"..");
        let same = above
            .ok()
            .filter(|above| identity(above) == Ok(level.identity));
        level.dir = same;
    }
}
