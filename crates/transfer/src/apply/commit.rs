//! Making a staged transaction visible, or taking it back.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use lazaret_tree::{AtPath as _, PathError, RelPath, RelPathBuf};
use rustix::io::Errno;

use super::conflict::{is, open_parent};
use super::journal::{Journal, Phase};
use super::ops::{Kind, Ops};
use super::steps::{Reverted, StepContext, is_gone, slot_old};
use super::store::Store;
use super::{ApplyError, ApplyReceipt, NotRestored, OnDrop, Transaction, check_root};

impl Transaction {
    /// Carries all changes out. When one fails, those before it are taken back.
    ///
    /// # Errors
    /// [`ApplyError::Unfinished`] and [`ApplyError::NotRestored`] say what is left;
    /// with every other error the workspace is as it was.
    pub fn commit(mut self) -> Result<ApplyReceipt, ApplyError> {
        self.on_drop = OnDrop::Nothing;
        let done = check_root(&*self.ops, self.root.as_fd(), &self.journal.root_path)
            .and_then(|()| self.execute());
        if let Err(cause) = done {
            return Err(self.roll_back(cause));
        }
        self.journal.phase = Phase::Committed;
        if let Err(error) = self.store.save(&*self.ops, &self.journal) {
            return Err(self.roll_back(error.into()));
        }
        let cleanup = finish(
            &*self.ops,
            self.root.as_fd(),
            &self.store,
            &mut self.journal,
        );
        let steps = self.journal.steps.iter();
        Ok(ApplyReceipt {
            applied: steps.map(|step| step.change.path.clone()).collect(),
            already: self.already,
            cleanup: cleanup.err().map(|error| error.to_string()),
        })
    }

    fn execute(&self) -> Result<(), ApplyError> {
        let context = self.context();
        for (index, step) in self.journal.steps.iter().enumerate() {
            context.execute(index, step)?;
        }
        Ok(sync_parents(&context, &self.journal)?)
    }

    fn roll_back(&mut self, cause: ApplyError) -> ApplyError {
        let cause = Box::new(cause);
        // The failed write may have left "committed" on the disk. Rolling back is
        // safe only once the journal says that it is not.
        self.journal.phase = Phase::Ready;
        let result = self
            .store
            .save(&*self.ops, &self.journal)
            .and_then(|()| revert_all(&self.context(), &self.journal))
            .and_then(|not_restored| {
                self.discard(&not_restored)?;
                Ok(not_restored)
            });
        match result {
            Ok(not_restored) if not_restored.is_empty() => *cause,
            Ok(not_restored) => ApplyError::NotRestored {
                cause,
                not_restored,
            },
            Err(error) => ApplyError::Unfinished {
                cause,
                rollback: Box::new(error.into()),
            },
        }
    }

    /// Ends a transaction none of whose steps has happened.
    pub(super) fn clean_up_staged(&mut self) -> Result<(), ApplyError> {
        Ok(self.discard(&[])?)
    }

    fn discard(&mut self, not_restored: &[NotRestored]) -> Result<(), PathError> {
        discard(
            &*self.ops,
            self.root.as_fd(),
            &self.store,
            &mut self.journal,
            not_restored,
        )
    }
}

/// Takes every step back, the last first.
pub(super) fn revert_all(
    context: &StepContext<'_>,
    journal: &Journal,
) -> Result<Vec<NotRestored>, PathError> {
    let mut not_restored = Vec::new();
    for (index, step) in journal.steps.iter().enumerate().rev() {
        match context.revert(index, step)? {
            Reverted::Clean => {}
            Reverted::NotRestored(path) => {
                let slot = slot_old(index);
                let saved = context.ops.stat_at(context.staging, &slot).at(&slot)?;
                let saved = saved.and_then(|_| {
                    let name = format!("{}/{slot}", journal.staging_name());
                    name.parse::<RelPathBuf>().ok()
                });
                not_restored.push(NotRestored { path, saved });
            }
        }
    }
    sync_parents(context, journal)?;
    Ok(not_restored)
}

/// Ends a transaction that has been taken back: the journal first says so, then
/// the staging directory goes, then the journal.
pub(super) fn discard(
    ops: &dyn Ops,
    root: BorrowedFd<'_>,
    store: &Store,
    journal: &mut Journal,
    not_restored: &[NotRestored],
) -> Result<(), PathError> {
    journal.phase = Phase::Staging;
    store.save(ops, journal)?;
    if not_restored.iter().all(|left| left.saved.is_none()) {
        remove_staging(ops, root, journal, Saved::Remove)?;
    } else {
        remove_staging(ops, root, journal, Saved::Keep)?;
    }
    store.forget(ops)
}

/// Ends a transaction that has happened.
pub(super) fn finish(
    ops: &dyn Ops,
    root: BorrowedFd<'_>,
    store: &Store,
    journal: &mut Journal,
) -> Result<(), PathError> {
    remove_staging(ops, root, journal, Saved::Remove)?;
    journal.phase = Phase::Done;
    store.save(ops, journal)
}

/// What is done with the saved old entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Saved {
    /// They go: their contents are kept elsewhere, or were put back.
    Remove,
    /// They stay, and so does the staging directory.
    Keep,
}

/// Removes the staging directory with what it holds, which is ours.
pub(super) fn remove_staging(
    ops: &dyn Ops,
    root: BorrowedFd<'_>,
    journal: &Journal,
    saved: Saved,
) -> Result<(), PathError> {
    let name = journal.staging_name();
    remove(ops, root, journal, saved).at(journal.root_path.join(&name))
}

fn remove(ops: &dyn Ops, root: BorrowedFd<'_>, journal: &Journal, saved: Saved) -> io::Result<()> {
    let name = &journal.staging_name();
    let path = RelPath::new(name).map_err(io::Error::other)?;
    let staging = match ops.open_beneath(root, path) {
        // Gone, and perhaps not yet durably so.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return ops.sync(root),
        other => other?,
    };
    for slot in ops.list(staging.as_fd())? {
        let slot = slot
            .to_str()
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
        if saved == Saved::Keep && slot.ends_with(".old") {
            continue;
        }
        match ops.stat_at(staging.as_fd(), slot)? {
            Some(stat) if stat.kind == Kind::Dir => {
                remove_dir(ops, journal, staging.as_fd(), slot)?;
            }
            Some(_) => ops.unlink(staging.as_fd(), slot)?,
            None => {}
        }
    }
    if saved == Saved::Remove {
        ops.rmdir(root, name)?;
    }
    ops.sync(root)
}

/// Removes a directory in a slot. After a power cut it may hold what later steps put
/// into it, when their renames reached the disk and its own did not; that goes too.
/// Anything else in it is not ours, and ends this.
fn remove_dir(
    ops: &dyn Ops,
    journal: &Journal,
    parent: BorrowedFd<'_>,
    name: &str,
) -> io::Result<()> {
    match ops.rmdir(parent, name) {
        Err(error) if is(&error, Errno::NOTEMPTY) || is(&error, Errno::EXIST) => {}
        other => return other,
    }
    let path = RelPath::new(name).map_err(io::Error::other)?;
    let dir = ops.open_beneath(parent, path)?;
    for child in ops.list(dir.as_fd())? {
        let Some(child) = child.to_str() else {
            continue;
        };
        let Some(stat) = ops.stat_at(dir.as_fd(), child)? else {
            continue;
        };
        let staged = journal.steps.iter().filter_map(|step| step.new);
        if !staged
            .into_iter()
            .any(|fingerprint| fingerprint.matches(&stat))
        {
            continue;
        }
        if stat.kind == Kind::Dir {
            remove_dir(ops, journal, dir.as_fd(), child)?;
        } else {
            ops.unlink(dir.as_fd(), child)?;
        }
    }
    ops.rmdir(parent, name)
}

/// Makes the renames durable: every directory that a step touched, once.
fn sync_parents(context: &StepContext<'_>, journal: &Journal) -> Result<(), PathError> {
    // One child of each is enough to find the directory by.
    let children: BTreeMap<&RelPath, &RelPath> = journal
        .steps
        .iter()
        .filter_map(|step| Some((step.change.path.parent()?, &*step.change.path)))
        .collect();
    for (parent, child) in &children {
        match open_parent(context.ops, context.root, child) {
            Ok(dir) => context.ops.sync(dir.as_fd()).at(parent.as_str())?,
            // Removed by this very batch.
            Err(error) if is_gone(&error) => {}
            Err(error) => return Err(error).at(parent.as_str()),
        }
    }
    // What was moved out of a directory that then went into its slot.
    for (index, step) in journal.steps.iter().enumerate() {
        if step.old.is_some() && children.contains_key(&*step.change.path) {
            sync_saved(context, &slot_old(index)).at(step.change.path.as_str())?;
        }
    }
    context
        .ops
        .sync(context.staging)
        .at("the staging directory")?;
    context.ops.sync(context.root).at(&journal.root_path)
}

fn sync_saved(context: &StepContext<'_>, slot: &str) -> io::Result<()> {
    let slot = RelPath::new(slot).map_err(io::Error::other)?;
    match context.ops.open_beneath(context.staging, slot) {
        Ok(dir) => context.ops.sync(dir.as_fd()),
        // Taken back, or no directory.
        Err(error) if is_gone(&error) => Ok(()),
        Err(error) => Err(error),
    }
}
