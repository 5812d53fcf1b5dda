//! The views of a session: who looks at its volume while its command runs.
//!
//! Each has a folder `views/<id>` in the session, with a lock that lives as long as its
//! process and what it has fetched, and a container whose name ends in the same id. So a
//! view whose process was killed can be told from one that is in use, and both halves of it
//! can be removed.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use lazaret_runtime::{ContainerName, Engine};
use lazaret_transfer::{AtPath as _, PathError};

use super::belongings::Belongings;
use super::record::Record;
use super::store::{SessionDir, StoreError, private_dir, random_hex, take_lock};
use crate::failure::Failure;

/// The folder of one view. Dropping it removes what was fetched, and the folder as well
/// unless the engine may still hold a container of that name.
#[derive(Debug)]
#[must_use = "the view is over when this is dropped"]
pub(super) struct View {
    id: String,
    path: PathBuf,
    engine: Trace,
    _lock: File,
}

/// What the engine knows of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trace {
    /// Nothing.
    None,
    /// Its container, or nobody knows.
    Container,
}

/// Which views are to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sweep {
    /// Those whose process is gone.
    Dead,
    /// All: the volume is about to be read, or removed.
    All,
}

impl View {
    /// Makes a folder that nobody else has.
    pub(super) fn create(session: &SessionDir) -> Result<Self, StoreError> {
        let id: String = random_hex().chars().take(6).collect();
        let path = views(session).join(&id);
        private_dir(&path)?;
        match take_lock(&path.join("lock"))? {
            Some(lock) => Ok(Self {
                id,
                path,
                engine: Trace::None,
                _lock: lock,
            }),
            None => Err(StoreError::Busy {
                id: session.id().clone(),
            }),
        }
    }

    /// Names its container.
    pub(super) fn container(&self, record: &Record) -> ContainerName {
        record.viewer(&self.id)
    }

    /// Notes what the engine knows of it.
    pub(super) fn note(&mut self, trace: Trace) {
        self.engine = trace;
    }

    /// Where what it fetches goes.
    pub(super) fn quarantine(&self) -> PathBuf {
        self.path.join("quarantine")
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // What is left of it is removed by whoever sweeps, or with the session.
        drop(match self.engine {
            Trace::None => fs::remove_dir_all(&self.path),
            Trace::Container => fs::remove_dir_all(self.quarantine()),
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
    which: Sweep,
) -> Result<(), Failure> {
    let mut doomed = Vec::new();
    for (id, path) in folders(session)? {
        match (which, take_lock(&path.join("lock"))?) {
            (_, Some(lock)) => doomed.push((id, path, Some(lock))),
            (Sweep::All, None) => doomed.push((id, path, None)),
            (Sweep::Dead, None) => {}
        }
    }
    if doomed.is_empty() {
        return Ok(());
    }
    let all = Belongings::of_store(engine, &record.store)?.of_session(&record.id);
    for (id, path, lock) in doomed {
        let name = record.viewer(&id);
        if all.containers.iter().any(|(found, _)| *found == name) {
            engine.remove_container(&name)?;
        }
        // The folder of a living one is its own to remove.
        if lock.is_some() {
            fs::remove_dir_all(&path).at(&path)?;
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
        if take_lock(&path.join("lock"))?.is_some() {
            dead.push(record.viewer(&id));
        }
    }
    Ok(dead)
}

fn folders(session: &SessionDir) -> Result<Vec<(String, PathBuf)>, PathError> {
    let dir = views(session);
    let entries = match fs::read_dir(&dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.at(&dir)?,
    };
    let mut folders = Vec::new();
    for entry in entries {
        let entry = entry.at(&dir)?;
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
