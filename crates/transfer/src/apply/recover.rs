//! Finishing what a crash left behind.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use lazaret_tree::{AtPath as _, PathError, RelPath};

use super::NotRestored;
use super::commit::{discard, finish, revert_all};
use super::history::undo_dir;
use super::journal::{Journal, JournalError, Phase};
use super::ops::{HostOps, Ops};
use super::steps::StepContext;
use super::store::{LoadError, Store};

/// What a recovery found to do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "says whether something was left alone"]
pub enum Recovered {
    /// Nothing: no transaction was cut short.
    Nothing,
    /// A transaction was taken back: the tree is as it was before it.
    RolledBack {
        /// Paths that were left as they are, because another process changed them meanwhile.
        not_restored: Vec<NotRestored>,
    },
    /// A transaction had happened and is now cleaned up: the tree is as after it.
    Completed,
}

/// Why a recovery is not possible. Nothing is removed then.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// The journal can't be read (APP-23).
    #[error(
        "{path}: {source}; it was left as it is, and so was the workspace: \
         the entries from before lie in `.lazaret-*/*.old` and in the session's `kept`",
        path = .path.display()
    )]
    Journal {
        /// The journal's directory.
        path: PathBuf,
        /// What is wrong with it.
        source: JournalError,
    },
    /// The workspace is no longer where it was.
    #[error("{path} is not the workspace that the journal is about; move it back and try again", path = .path.display())]
    WorkspaceMoved {
        /// Where it was.
        path: PathBuf,
    },
    /// The file system said no; try again.
    #[error(transparent)]
    Io(#[from] PathError),
}

/// Finishes the transaction in `journal_dir`, and the undo of it, if a crash cut
/// one short. Can itself be cut short and repeated any number of times (APP-12).
///
/// # Errors
/// When the journal can't be read, or the workspace not be reached.
pub fn recover(journal_dir: &Path) -> Result<Recovered, RecoverError> {
    recover_with(&HostOps::new(), journal_dir)
}

pub(crate) fn recover_with(ops: &dyn Ops, journal_dir: &Path) -> Result<Recovered, RecoverError> {
    let mut result = recover_one(ops, journal_dir)?;
    for index in 1.. {
        let dir = undo_dir(journal_dir, index);
        if Store::open(ops, &dir)?.is_none() {
            break;
        }
        match recover_one(ops, &dir)? {
            Recovered::Nothing => {}
            other => result = other,
        }
    }
    Ok(result)
}

fn recover_one(ops: &dyn Ops, journal_dir: &Path) -> Result<Recovered, RecoverError> {
    let Some(store) = Store::open(ops, journal_dir)? else {
        return Ok(Recovered::Nothing);
    };
    let journal = store.load(ops).map_err(|error| match error {
        LoadError::Io(error) => RecoverError::Io(error),
        LoadError::Journal(source) => RecoverError::Journal {
            path: journal_dir.to_path_buf(),
            source,
        },
    })?;
    let Some(mut journal) = journal else {
        return Ok(Recovered::Nothing);
    };
    if journal.phase == Phase::Done {
        return Ok(Recovered::Nothing);
    }
    // What was read may be newer than what a power cut would leave. Nothing may be
    // removed on the word of a journal that could go back to what it said before.
    ops.sync(store.dir()).at(journal_dir)?;
    let (root, staging) = open_root(ops, &journal)?;
    match (journal.phase, staging) {
        (Phase::Committed, _) => {
            finish(ops, root.as_fd(), &store, &mut journal)?;
            Ok(Recovered::Completed)
        }
        (Phase::Ready, Some(staging)) => {
            let context = StepContext {
                ops,
                root: root.as_fd(),
                staging: staging.as_fd(),
                placement: journal.placement,
            };
            let not_restored = revert_all(&context, &journal)?;
            discard(ops, root.as_fd(), &store, &mut journal, &not_restored)?;
            Ok(Recovered::RolledBack { not_restored })
        }
        // Nothing was saved yet, or another process removed the staging directory: there
        // is nothing to put back.
        _ => {
            discard_unkept(ops, root.as_fd(), &store, &mut journal)?;
            Ok(Recovered::RolledBack {
                not_restored: Vec::new(),
            })
        }
    }
}

/// Cleans up where no step has happened, or all were taken back. What is saved
/// in slots by then stays: it is what an earlier attempt left alone.
fn discard_unkept(
    ops: &dyn Ops,
    root: std::os::fd::BorrowedFd<'_>,
    store: &Store,
    journal: &mut Journal,
) -> Result<(), RecoverError> {
    let name = journal.staging_name();
    let path = journal.root_path.join(&name);
    let saved = match RelPath::new(&name).map_err(io::Error::other) {
        Ok(name) => match ops.open_beneath(root, name) {
            Ok(staging) => ops
                .list(staging.as_fd())
                .at(&path)?
                .iter()
                .any(|slot| slot.as_encoded_bytes().ends_with(b".old")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error).at(&path)?,
        },
        Err(error) => return Err(error).at(&path)?,
    };
    let not_restored: Vec<NotRestored> = if saved {
        let steps = journal.steps.iter().take(1);
        let kept = |step: &super::journal::Step| NotRestored {
            path: step.change.path.clone(),
            saved: name.parse().ok(),
        };
        steps.map(kept).collect()
    } else {
        Vec::new()
    };
    Ok(discard(ops, root, store, journal, &not_restored)?)
}

/// Opens the workspace that a journal is about. It is known by its inode and
/// either its device or the staging directory, whose name nothing else has:
/// device numbers may change over a reboot.
fn open_root(ops: &dyn Ops, journal: &Journal) -> Result<(OwnedFd, Option<OwnedFd>), RecoverError> {
    let path = &journal.root_path;
    let moved = || RecoverError::WorkspaceMoved { path: path.clone() };
    let root = match ops.open_ambient(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(moved()),
        other => other.at(path)?,
    };
    let stat = ops.stat(root.as_fd()).at(path)?;
    let name = journal.staging_name();
    let staging = match RelPath::new(&name).map_err(io::Error::other) {
        Ok(name) => match ops.open_beneath(root.as_fd(), name) {
            Ok(staging) => Some(staging),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).at(path.join(name.as_str()))?,
        },
        Err(error) => return Err(error).at(path)?,
    };
    let same_device = stat.dev == journal.root_dev;
    if stat.ino != journal.root_ino || !(same_device || staging.is_some()) {
        return Err(moved());
    }
    Ok((root, staging))
}
