//! `porter usage ROOT`: how full a volume is, as often as it is asked ([`lazaret_protocol::usage`]).
//!
//! Runs in the exporter's container beside the command (CON-28). What it counts may change
//! meanwhile: the answer is what was seen, and the host asks again.

use std::collections::BTreeSet;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::ExitCode;

use lazaret_protocol::usage::{Amount, FREE, UsageReply};
use lazaret_tree::PathError;
use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;

use crate::files::root::{self, Root};

/// The deepest directory that is looked into: each level takes a descriptor.
const DEPTH: usize = 256;

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

/// A walk over a volume.
#[derive(Debug, Default)]
struct Walk {
    found: Amount,
    /// What has several names, and was counted.
    shared: BTreeSet<u64>,
    /// Directories that were not looked into.
    skipped: u64,
}

impl Walk {
    fn of(root: &Root) -> Result<UsageReply, Errno> {
        let mut walk = Self::default();
        walk.count(&rustix::fs::fstat(root)?);
        let mut open = vec![Level::of(root.reopen().map_err(|_| Errno::MFILE)?)?];
        while let Some(level) = open.last_mut() {
            let Some(name) = level.names.pop() else {
                open.pop();
                continue;
            };
            // One that has just been removed, or replaced, is not there.
            let stat = rustix::fs::statat(&level.dir, &*name, AtFlags::SYMLINK_NOFOLLOW);
            let Ok(stat) = stat else { continue };
            walk.count(&stat);
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                continue;
            }
            let inside = root::open_dir(&level.dir, &name).and_then(Level::of);
            match inside {
                Ok(inside) if open.len() < DEPTH => open.push(inside),
                Ok(_) => walk.skipped += 1,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(_) => walk.skipped += 1,
            }
        }
        Ok(match walk.skipped {
            0 => UsageReply::Used(walk.found),
            _ => UsageReply::Deep(walk.found),
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
    dir: OwnedFd,
    /// Those that were not counted yet.
    names: Vec<std::ffi::CString>,
}

impl Level {
    fn of(dir: OwnedFd) -> Result<Self, Errno> {
        let names = root::names(&dir)?;
        Ok(Self { dir, names })
    }
}
