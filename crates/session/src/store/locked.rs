//! `LockedSession`: a session that this process alone may change.

use std::fs::{self, File};

use lazaret_tree::AtPath as _;

use crate::ask::turns::Turns;
use crate::audit::Durability;
use crate::audit::event::AuditEvent;
use crate::store::deferred_sync::DeferredSync;
use crate::store::dir::SessionDir;
use crate::store::error::StoreError;
use crate::store::file::{random_hex, remove_dir, remove_file, write_atomically};
use crate::store::record::{KeepVolume, Outcome, Phase, Record};

/// What is known of a volume, as long as there is one.
const OF_VOLUME: &[&str] = &["volume", "intent", "stat-cache", "tips"];
/// The texts of what a volume started from, a directory.
const MERGE_BASES: &str = "merge-bases";
/// How the name of a session that is being removed begins; no session has such a name.
pub(super) const REMOVED: &str = ".removed-";

/// A session that this process alone may change.
#[derive(Debug)]
#[must_use = "dropping it gives the session up to others"]
pub struct LockedSession {
    dir: SessionDir,
    record: Record,
    lock: File,
}

impl LockedSession {
    pub(super) fn new(dir: SessionDir, record: Record, lock: File) -> Self {
        Self { dir, record, lock }
    }

    /// Says that the directory was renamed.
    pub(super) fn moved_to(self, dir: SessionDir) -> Self {
        Self { dir, ..self }
    }

    /// Returns the session's directory.
    pub fn dir(&self) -> &SessionDir {
        &self.dir
    }

    /// Returns the record.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Returns another hold on the lock: the session is given up to others once both are gone.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub(crate) fn share_lock(&self) -> Result<File, StoreError> {
        let path = self.dir.file("lock");
        Ok(self.lock.try_clone().at(&path)?)
    }

    /// Changes the record and writes it, atomically.
    ///
    /// # Errors
    /// When the disk refuses; the old record is still there then.
    pub fn update(&mut self, change: impl FnOnce(&mut Record)) -> Result<(), StoreError> {
        let before = self.rest();
        change(&mut self.record);
        self.save()?;
        match self.rest() {
            Some(outcome) if before != Some(outcome) => {
                self.tell(AuditEvent::Settled { outcome }, Durability::Synced)
            }
            _ => Ok(()),
        }
    }

    /// How it came to rest; `None` while it is at work.
    fn rest(&self) -> Option<Outcome> {
        match self.record.phase {
            Phase::Collected | Phase::Rejected | Phase::Settled => self.record.outcome,
            _ => None,
        }
    }

    /// Appends an entry about this session to the audit log.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn tell(&self, event: AuditEvent, durability: Durability) -> Result<(), StoreError> {
        let log = self.dir.audit_log();
        Ok(log.append(self.dir.id(), event, durability)?)
    }

    /// As [`LockedSession::update`]; only a power cut finds the old record before `deferred`
    /// is synced.
    ///
    /// # Errors
    /// When the disk refuses; the old record is still there then.
    pub(crate) fn update_soon(
        &mut self,
        deferred: &mut DeferredSync,
        change: impl FnOnce(&mut Record),
    ) -> Result<(), StoreError> {
        change(&mut self.record);
        let bytes = self.bytes()?;
        let path = self.dir.file("session.json");
        Ok(deferred.put(&path, |out| out.write_all(&bytes))?)
    }

    /// Removes what the gate worked on, once it is settled; the record, the log and what
    /// an undo needs stay, and of a kept session what is known of its volume.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn remove_collection(&self) -> Result<(), StoreError> {
        remove_dir(&self.dir.file("quarantine"))?;
        match self.record.keep {
            KeepVolume::UntilSettled => self.remove_known(),
            KeepVolume::Always => Ok(()),
        }
    }

    /// Removes all that is known of a volume that is gone; the record, the log and what an
    /// undo needs stay.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn forget_volume(&self) -> Result<(), StoreError> {
        for name in ["quarantine", "settled"] {
            remove_dir(&self.dir.file(name))?;
        }
        self.remove_known()
    }

    /// Removes what is known of the volume.
    fn remove_known(&self) -> Result<(), StoreError> {
        remove_dir(&self.dir.file(MERGE_BASES))?;
        for name in OF_VOLUME {
            remove_file(&self.dir.file(name))?;
        }
        Ok(())
    }

    /// Removes the session from the disk. Its name is free in one step: no other process sees a
    /// part of it.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn remove(self) -> Result<(), StoreError> {
        // Before the name is free: they are found by it.
        Turns::remove(self.dir.state_dir(), self.dir.id())?;
        let path = self.dir.path();
        let removed = path.with_file_name(format!("{REMOVED}{}", random_hex()));
        fs::rename(path, &removed).at(path)?;
        remove_dir(&removed)?;
        self.tell(AuditEvent::Removed, Durability::Written)
    }

    pub(super) fn save(&self) -> Result<(), StoreError> {
        Ok(write_atomically(
            &self.dir.file("session.json"),
            &self.bytes()?,
        )?)
    }

    fn bytes(&self) -> Result<Vec<u8>, StoreError> {
        self.record.to_bytes().map_err(|source| StoreError::Record {
            id: self.dir.id().clone(),
            source,
        })
    }
}
