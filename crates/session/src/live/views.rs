//! The views of a session: which processes look at its volume while its command runs.
//!
//! Each has a folder `views/<id>` in the session, with a lock that lives as long as its
//! process and what it has fetched, and a container whose name ends in the same id. So a
//! view whose process was killed can be told from one that is in use, and both halves of it
//! can be removed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use lazaret_runtime::{ContainerName, Engine};
use lazaret_tree::PathError;

use crate::engine::inventory::{Inventory, SweepError};
use crate::store::file::{list_dir, private_dir, random_hex, remove_dir};
use crate::store::file_lock::{FileLock, take_lock};
use crate::store::record::Record;
use crate::store::{SessionDir, StoreError};

/// The folder of one view. Dropping it removes what was fetched, and the folder as well
/// unless the engine may still hold a container of that name.
#[derive(Debug)]
#[must_use = "the view is over when this is dropped"]
pub(crate) struct View {
    id: String,
    path: PathBuf,
    engine: EngineObject,
    _lock: File,
}

/// What the engine knows of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EngineObject {
    /// Nothing.
    None,
    /// It has the container, or may have it.
    Container,
}

/// How often a view is begun anew.
const TRIES: usize = 50;

/// Which views are to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweepScope {
    /// Those whose process is gone.
    Dead,
    /// All: the volume is about to be read, or removed.
    All,
}

impl View {
    /// Makes a folder that no other view has.
    pub(crate) fn create(session: &SessionDir) -> Result<Self, StoreError> {
        // A sweep that comes between folder and lock takes both away.
        for _ in 0..TRIES {
            let id: String = random_hex().chars().take(6).collect();
            let path = views(session).join(&id);
            private_dir(&path)?;
            if let FileLock::Taken(lock) = lock(&path)?
                && path.join("lock").exists()
            {
                return Ok(Self {
                    id,
                    path,
                    engine: EngineObject::None,
                    _lock: lock,
                });
            }
        }
        Err(StoreError::Busy {
            id: session.id().clone(),
        })
    }

    /// Names its container.
    pub(crate) fn container(&self, record: &Record) -> ContainerName {
        record.viewer(&self.id)
    }

    /// Notes what the engine knows of it.
    pub(crate) fn note(&mut self, object: EngineObject) {
        self.engine = object;
    }

    /// Where what it fetches goes.
    pub(crate) fn quarantine(&self) -> PathBuf {
        self.path.join("quarantine")
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // A sweep removes what is left of it, or the removal of the session does.
        drop(match self.engine {
            EngineObject::None => fs::remove_dir_all(&self.path),
            EngineObject::Container => fs::remove_dir_all(self.quarantine()),
        });
    }
}

/// Removes views, containers first.
///
/// # Errors
/// The engine's, or the disk's.
pub fn sweep(
    engine: &dyn Engine,
    session: &SessionDir,
    record: &Record,
    which: SweepScope,
) -> Result<(), SweepError> {
    let mut removable = Vec::new();
    for (id, path) in folders(session)? {
        match (which, lock(&path)?) {
            (_, FileLock::Taken(lock)) => removable.push((id, path, Some(lock))),
            (SweepScope::All, FileLock::Held) => removable.push((id, path, None)),
            (SweepScope::Dead, FileLock::Held) | (_, FileLock::Gone) => {}
        }
    }
    if removable.is_empty() {
        return Ok(());
    }
    let all = Inventory::of_store(engine, &record.store)?.of(&record.owner());
    for (id, path, lock) in removable {
        let name = record.viewer(&id);
        if all.containers.iter().any(|(found, _)| *found == name) {
            engine.remove_container(&name)?;
        }
        // The folder of a living one is its own to remove.
        if lock.is_some() {
            remove_dir(&path)?;
        }
    }
    Ok(())
}

/// Names the containers of views whose process is gone.
///
/// # Errors
/// The disk's.
pub fn dead(session: &SessionDir, record: &Record) -> Result<Vec<ContainerName>, StoreError> {
    let mut dead = Vec::new();
    for (id, path) in folders(session)? {
        if matches!(lock(&path)?, FileLock::Taken(_)) {
            dead.push(record.viewer(&id));
        }
    }
    Ok(dead)
}

fn lock(folder: &Path) -> Result<FileLock, PathError> {
    match take_lock(&folder.join("lock")) {
        Ok(Some(lock)) => Ok(FileLock::Taken(lock)),
        Ok(None) => Ok(FileLock::Held),
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => Ok(FileLock::Gone),
        Err(error) => Err(error),
    }
}

fn folders(session: &SessionDir) -> Result<Vec<(String, PathBuf)>, PathError> {
    let mut folders = Vec::new();
    for entry in list_dir(&views(session))? {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.len() == 6 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            folders.push((name, entry.path()));
        }
    }
    Ok(folders)
}

fn views(session: &SessionDir) -> PathBuf {
    session.file("views")
}
