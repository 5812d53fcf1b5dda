//! `Mailbox`: takes mail in, hands it out, settles it. Whatever kills it in between, nothing is
//! lost and nothing is there twice.
//!
//! | step | a kill after it |
//! |---|---|
//! | `waiting/<id>.json` is written | the index does not name it: it is taken again |
//! | the index is replaced | the file inside is known: it is removed by the next look |
//! | the file inside is removed | the next look orders it once more, which does nothing |
//! | the index forgets the file | nothing is left to do |

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use lazaret_protocol::{MailFound, MailId, MailOrders};
use lazaret_tree::{AtPath as _, PathError};
use lazaret_validator::HandedOut;

use super::index::{Accepted, Index};
use super::roster::Roster;
use super::snapshot;
use crate::store::file::{list_dir, ok_if_absent, private_dir, remove_file, write_atomically};

/// Why the mail can't be kept.
#[derive(Debug, thiserror::Error)]
pub enum MailboxError {
    /// The disk failed.
    #[error(transparent)]
    Io(#[from] PathError),
    /// What is written there can't be read.
    #[error("{path} is damaged", path = .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// The mail of all groups.
#[derive(Debug, Clone)]
pub struct Mailbox {
    dir: PathBuf,
    #[cfg(test)]
    fault: tests::Fault,
}

/// The mail, while no other process changes it.
struct Locked<'a> {
    mailbox: &'a Mailbox,
    index: Index,
    _lock: File,
}

impl Mailbox {
    /// Opens it.
    ///
    /// # Errors
    /// The disk's.
    pub fn open(state_dir: &Path) -> Result<Self, MailboxError> {
        let dir = state_dir.join("mail");
        private_dir(&dir.join("waiting"))?;
        Ok(Self {
            dir,
            #[cfg(test)]
            fault: tests::Fault::default(),
        })
    }

    /// Stores what was found in a group's mailbox, durably, and says what is removed there. `now`
    /// is in seconds since 1970.
    ///
    /// # Errors
    /// The disk's. What was found is to stay where it is then.
    pub fn take(
        &self,
        roster: &Roster,
        found: &MailFound,
        handed: &HandedOut,
        now: u64,
    ) -> Result<MailOrders, MailboxError> {
        let mut locked = self.lock()?;
        locked.sweep()?;
        let accepted = locked.index.take(roster, &found.0, handed, now);
        locked.index.forget_over(now);
        for one in &accepted {
            let bytes = serde_json::to_vec(one).map_err(|source| self.damaged(source))?;
            write_atomically(&self.waiting(one.id), &bytes)?;
            self.step()?;
        }
        locked.write()?;
        let index = &mut locked.index;
        Ok(MailOrders {
            remove: index.of(&roster.own.group).to_remove(),
            put: snapshot::files(index, roster),
        })
    }

    /// Forgets files that are removed inside for certain.
    ///
    /// # Errors
    /// The disk's.
    pub fn removed(&self, group: &str, ids: &[MailId]) -> Result<(), MailboxError> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut locked = self.lock()?;
        locked.index.of(group).removed(ids);
        locked.write()
    }

    /// Returns what waits of a group, in the order in which it was taken.
    ///
    /// # Errors
    /// The disk's.
    pub fn waiting_of(&self, group: &str) -> Result<Vec<Accepted>, MailboxError> {
        let mut locked = self.lock()?;
        let ids = locked.index.of(group).waiting.clone();
        let mut all = Vec::new();
        for id in ids {
            let path = self.waiting(id);
            let bytes = fs::read(&path).at(&path)?;
            let read = serde_json::from_slice(&bytes);
            all.push(read.map_err(|source| MailboxError::Damaged { path, source })?);
        }
        Ok(all)
    }

    /// Settles what the host's program has done. What was settled before is left as it is.
    /// Returns the numbers that were never given to this group.
    ///
    /// # Errors
    /// The disk's.
    pub fn settle(&self, group: &str, ids: &BTreeSet<u64>) -> Result<Vec<u64>, MailboxError> {
        let mut locked = self.lock()?;
        let last = locked.index.last;
        let others = locked
            .index
            .groups
            .iter()
            .filter(|(name, _)| *name != group);
        let of_others: BTreeSet<u64> = others
            .flat_map(|(_, kept)| kept.waiting.iter().copied())
            .collect();
        let is_unknown = |id: &u64| *id == 0 || *id > last || of_others.contains(id);
        let unknown: Vec<u64> = ids.iter().copied().filter(is_unknown).collect();
        if !unknown.is_empty() {
            return Ok(unknown);
        }
        locked
            .index
            .of(group)
            .waiting
            .retain(|id| !ids.contains(id));
        locked.write()?;
        locked.sweep()?;
        Ok(Vec::new())
    }

    /// Forgets all mail of a group. Returns false, and forgets nothing, if some of it waits.
    ///
    /// # Errors
    /// The disk's.
    pub fn forget(&self, group: &str) -> Result<bool, MailboxError> {
        let mut locked = self.lock()?;
        if !locked.index.of(group).waiting.is_empty() {
            return Ok(false);
        }
        locked.index.groups.remove(group);
        locked.write()?;
        Ok(true)
    }

    fn lock(&self) -> Result<Locked<'_>, MailboxError> {
        let path = self.dir.join("lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .at(&path)?;
        lock.lock().at(&path)?;
        let path = self.index();
        let index = match ok_if_absent(fs::read(&path)).at(&path)? {
            Some(bytes) => serde_json::from_slice(&bytes)
                .map_err(|source| MailboxError::Damaged { path, source })?,
            None => Index::default(),
        };
        Ok(Locked {
            mailbox: self,
            index,
            _lock: lock,
        })
    }

    fn damaged(&self, source: serde_json::Error) -> MailboxError {
        let path = self.index();
        MailboxError::Damaged { path, source }
    }

    fn index(&self) -> PathBuf {
        self.dir.join("index.json")
    }

    fn waiting(&self, id: u64) -> PathBuf {
        self.dir.join("waiting").join(format!("{id}.json"))
    }

    /// Is where a test kills it.
    #[cfg_attr(
        not(test),
        expect(
            clippy::unused_self,
            clippy::unnecessary_wraps,
            reason = "only tests fail at a step"
        )
    )]
    fn step(&self) -> Result<(), MailboxError> {
        #[cfg(test)]
        self.fault.step()?;
        Ok(())
    }
}

impl Locked<'_> {
    /// Replaces the index, which decides.
    fn write(&self) -> Result<(), MailboxError> {
        let bytes = serde_json::to_vec(&self.index);
        let bytes = bytes.map_err(|source| self.mailbox.damaged(source))?;
        write_atomically(&self.mailbox.index(), &bytes)?;
        self.mailbox.step()
    }

    /// Removes what the index does not name: it was settled, or never taken.
    fn sweep(&self) -> Result<(), MailboxError> {
        let named: BTreeSet<u64> = (self.index.groups.values())
            .flat_map(|kept| kept.waiting.iter().copied())
            .collect();
        for entry in list_dir(&self.mailbox.dir.join("waiting"))? {
            let path = entry.path();
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            let id = stem.and_then(|stem| stem.parse().ok());
            if id.is_none_or(|id| !named.contains(&id)) {
                remove_file(&path)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
