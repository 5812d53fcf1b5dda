//! `porter usage ROOT`: how full a volume is, as often as it is asked ([`lazaret_protocol::usage`]).
//!
//! Runs in the exporter's container beside the command (CON-28). What it counts may change
//! meanwhile: the answer is what was seen, and the host asks again.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::io::{self, Read as _, Write as _};
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
pub(crate) fn run(root: &str) -> ExitCode {
    crate::exit_with("usage", answer(Path::new(root)))
}

fn answer(path: &Path) -> Result<(), UsageError> {
    let root = Root::open(path)?;
    let (mut stdin, mut stdout) = (io::stdin(), io::stdout());
    let mut asked = [0];
    while stdin.read(&mut asked).map_err(UsageError::Stdin)? == 1 {
        let reply = match asked {
            [FREE] => free(&root),
            _ => Walk::of(&root),
        };
        let reply = reply.map_err(|errno| UsageError::Volume(errno.into()))?;
        writeln!(stdout, "{reply}").map_err(UsageError::Stdout)?;
        stdout.flush().map_err(UsageError::Stdout)?;
    }
    Ok(())
}

fn free(root: &Root) -> Result<UsageReply, Errno> {
    let file_system = rustix::fs::fstatvfs(root)?;
    Ok(UsageReply::Free(Amount {
        bytes: file_system.f_bfree.saturating_mul(file_system.f_frsize),
        inodes: file_system.f_ffree,
    }))
}

/// A walk over a volume, however deep that is.
///
/// Only the directories nearest to where it is stay open. The way back to one that was closed is
/// `..`, which must lead to the same directory as before: the command may have moved it.
#[derive(Debug, Default)]
struct Walk {
    found: Amount,
    /// What has several names, and was counted.
    shared: BTreeSet<u64>,
    /// Directories that could not be looked into to their end.
    lost: u64,
}

impl Walk {
    fn of(root: &Root) -> Result<UsageReply, Errno> {
        let mut walk = Self::default();
        walk.count(&rustix::fs::fstat(root)?);
        let top = Level::of(root.reopen().map_err(|_| Errno::MFILE)?)?;
        let mut levels = vec![top];
        while let Some(level) = levels.last_mut() {
            let Some(dir) = &level.dir else {
                walk.lost += 1;
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
            walk.count(&stat);
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                continue;
            }
            match root::open_dir(dir, &name).and_then(Level::of) {
                Ok(inside) => enter(&mut levels, inside),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(_) => walk.lost += 1,
            }
        }
        Ok(match walk.lost {
            0 => UsageReply::Used(walk.found),
            _ => UsageReply::Part(walk.found),
        })
    }

    fn count(&mut self, stat: &Stat) {
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if !is_directory && stat.st_nlink > 1 && !self.shared.insert(stat.st_ino) {
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
