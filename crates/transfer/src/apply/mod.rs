//! Apply: a list of changes goes into a workspace as a whole or not at all.
//!
//! [`Transaction::prepare`] compares the workspace with what every change starts
//! from, looks for whatever would stop it halfway, keeps the old contents for the
//! undo, and stages the new ones in `.lazaret-<id>/` in the workspace's root,
//! that is on the same file system. [`Transaction::commit`] then moves entries
//! in and out by rename, each checked again just before and just after, and takes
//! everything back when one of them fails. The journal lies in the session's own
//! directory; [`recover`] reads it after a crash, and [`undo`] after a commit.
//!
//! # What is promised
//!
//! - After any crash, and `recover`: the old tree or the new one (P4).
//! - No entry is written, renamed or removed outside the workspace: directories
//!   are reached from the root's descriptor only, without following links or
//!   crossing mounts, and every operation is on one name in an open directory (P2).
//! - A file that another process changed meanwhile is never overwritten (P5): a change is
//!   carried out only over what it expects, and is taken back only over what it
//!   left.
//!
//! # What is not
//!
//! - A process of the same user that moves an open directory out of the workspace
//!   takes along what is then put into it; a store through a shared mapping that
//!   was made earlier may not show in a file's times.
//! - While a commit runs, others see some entries old and some new. No path that is
//!   replaced is ever absent, where the file system can exchange names.
//! - Times of directories are not kept, nor are `trusted.` attributes and what `security.evm`
//!   and `security.ima` say of an inode. Modes, owners, access control lists and other
//!   attributes: see `stage`.
//! - One transaction at a time per workspace is the caller's to see to (a lock on
//!   the root's device and inode).

mod attributes;
mod commit;
mod conflict;
#[cfg(feature = "crash")]
pub mod crash;
pub(crate) mod fingerprint;
mod history;
mod inspect;
pub(crate) mod journal;
pub mod merge;
pub(crate) mod ops;
mod preflight;
mod prepare;
mod recover;
mod stage;
mod steps;
mod store;
mod undo;
mod undo_error;

#[cfg(test)]
mod tests;

pub use conflict::{Conflict, ConflictKind};
pub use history::{Attempt, History, HistoryState, history, history_state};
pub use inspect::{EntryAt, HostState, host_states, inspect};
pub use journal::JournalError;
pub use preflight::{Obstacle, ObstacleKind};
pub use recover::{RecoverError, Recovered, recover};
pub use undo::{redo, undo};
pub use undo_error::UndoError;

use std::fmt;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lazaret_tree::{AtPath as _, Blobs, Change, Digest, PathError, RelPathBuf, escape};

use crate::WorkspaceDir;
use journal::Journal;
use ops::{HostOps, Ops, Time};
use store::{LoadError, Store};

/// A list of changes that is staged and journaled, and not yet visible.
#[derive(Debug)]
#[must_use = "ends by `commit` or `abort`; dropping it aborts without saying whether that worked"]
pub struct Transaction {
    ops: Arc<dyn Ops>,
    root: OwnedFd,
    store: Store,
    staging: OwnedFd,
    journal: Journal,
    already: usize,
    on_drop: OnDrop,
}

/// Who ends a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnDrop {
    /// Dropping it does.
    Abort,
    /// A commit or an abort did.
    Nothing,
}

/// What a commit did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyReceipt {
    /// The paths that were changed, in the order in which it was done.
    pub applied: Vec<RelPathBuf>,
    /// How many changes were there already.
    pub already: usize,
    /// Why the staging directory could not be removed; `recover` tries again.
    pub cleanup: Option<String>,
}

/// An entry that a rollback left in its saved form, because another process changed
/// the path meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRestored {
    /// The path, where the other process's entry stays.
    pub path: RelPathBuf,
    /// Where the entry from before the transaction lies, below the workspace.
    pub saved: Option<RelPathBuf>,
}

/// Why changes were not applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The workspace changed meanwhile; nothing was applied.
    #[error("the workspace has changed meanwhile: {}", first(.0))]
    Conflicts(Vec<Conflict>),
    /// Some path can't be changed; nothing was applied.
    #[error("can't be applied: {}", first(.0))]
    Obstacles(Vec<Obstacle>),
    /// Contents are missing or wrong; nothing was applied.
    #[error("the contents of `{}` ({digest}): {source}", escape(.path.as_str().as_bytes()))]
    Blob {
        /// Whose contents.
        path: RelPathBuf,
        /// Which.
        digest: Digest,
        /// The cause.
        source: io::Error,
    },
    /// The root's path now leads to another directory (APP-03).
    #[error("{path} is no longer the directory that was opened", path = .path.display())]
    WorkspaceMoved {
        /// The path.
        path: PathBuf,
    },
    /// The journal's directory holds a transaction already.
    #[error("{path} holds a transaction already; recover or undo it, or use another directory", path = .path.display())]
    JournalInUse {
        /// The directory.
        path: PathBuf,
    },
    /// The journal's directory holds something that is no journal of ours.
    #[error("{path}: {source}", path = .path.display())]
    Journal {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        source: JournalError,
    },
    /// Another process changed the staging directory; nothing was applied.
    #[error("the staged `{}` is no longer what was staged", escape(.path.as_str().as_bytes()))]
    StagingChanged {
        /// The path it was staged for.
        path: RelPathBuf,
    },
    /// The file system said no; nothing was applied.
    #[error(transparent)]
    Io(#[from] PathError),
    /// Rolled back, but for paths that another process changed meanwhile.
    #[error("{cause}; rolled back, but for {}", not_restored_text(.not_restored))]
    NotRestored {
        /// Why it failed.
        #[source]
        cause: Box<Self>,
        /// What was left alone.
        not_restored: Vec<NotRestored>,
    },
    /// It failed, and so did the rollback: `recover` has to finish it.
    #[error("{cause}; rolling back failed too: {rollback}")]
    Unfinished {
        /// Why it failed.
        #[source]
        cause: Box<Self>,
        /// Why the rollback failed.
        rollback: Box<Self>,
    },
}

impl Transaction {
    /// Checks, keeps, and stages `changes`; the workspace stays as it is, but for
    /// the staging directory. `journal_dir` is made if it is missing; it is to lie
    /// outside the workspace, private to the user.
    ///
    /// # Errors
    /// When something is in the way; then nothing is left behind.
    pub fn prepare(
        workspace: &WorkspaceDir,
        changes: &[Arc<Change>],
        blobs: &dyn Blobs,
        journal_dir: &Path,
    ) -> Result<Self, ApplyError> {
        let request = prepare::Request {
            root: workspace.as_fd(),
            root_path: workspace.path(),
            changes,
            restore: &|_| None,
            journal_dir,
        };
        prepare::prepare_with(Arc::new(HostOps::new()), &request, blobs)
    }

    /// Returns how many changes there are to carry out.
    pub fn len(&self) -> usize {
        self.journal.steps.len()
    }

    /// Whether there is nothing to carry out.
    pub fn is_empty(&self) -> bool {
        self.journal.steps.is_empty()
    }

    /// Takes the staging directory and the journal away again.
    ///
    /// # Errors
    /// When that fails; `recover` tries again.
    pub fn abort(mut self) -> Result<(), ApplyError> {
        self.on_drop = OnDrop::Nothing;
        self.clean_up_staged()
    }

    fn context(&self) -> steps::StepContext<'_> {
        steps::StepContext {
            ops: &*self.ops,
            root: self.root.as_fd(),
            staging: self.staging.as_fd(),
            placement: self.journal.placement,
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if self.on_drop == OnDrop::Abort {
            // A failure leaves a journal, and so work for `recover`.
            let _abandoned = self.clean_up_staged();
        }
    }
}

/// What an undo gives back besides contents.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Restore {
    mode: u32,
    mtime: Time,
    attributes: Option<Digest>,
}

/// Checks that the path of the root still leads to the open root (APP-03).
fn check_root(ops: &dyn Ops, root: BorrowedFd<'_>, path: &Path) -> Result<(), ApplyError> {
    let open = ops.stat(root).at(path)?;
    match ops::stat_ambient(ops, path) {
        Ok(there) if (there.dev, there.ino) == (open.dev, open.ino) => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).at(path)?,
        _ => Err(ApplyError::WorkspaceMoved {
            path: path.to_path_buf(),
        }),
    }
}

fn load_error(path: &Path, error: LoadError) -> ApplyError {
    match error {
        LoadError::Io(error) => error.into(),
        LoadError::Journal(source) => ApplyError::Journal {
            path: path.to_path_buf(),
            source,
        },
    }
}

fn first<T: fmt::Display>(all: &[T]) -> String {
    match all {
        [] => "nothing".to_owned(),
        [one] => one.to_string(),
        [one, rest @ ..] => format!("{one} (and {} more)", rest.len()),
    }
}

fn not_restored_text(all: &[NotRestored]) -> String {
    first(
        &all.iter()
            .map(|left| format!("`{}`", escape(left.path.as_str().as_bytes())))
            .collect::<Vec<_>>(),
    )
}
