//! Removals in the background, which the launcher waits for only at its end.
//!
//! Each shares the lock of its session: containers are removed by their names, and the session's
//! next command has ones of the same names.

use std::fs::File;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use lazaret_runtime::{ContainerLease, VolumeLease};

/// Containers that are being removed, each on its own thread. What could not be removed is among
/// the runtime's unremoved resources, which are named at the end.
#[derive(Debug, Default)]
pub struct BackgroundRemovals(Mutex<Vec<JoinHandle<()>>>);

impl BackgroundRemovals {
    /// Removes a container of a session whose lock this is, and returns at once.
    pub fn remove(&self, container: ContainerLease, session: File) {
        let removal = thread::spawn(move || {
            // A failure is among the unremoved.
            drop(container.release());
            drop(session);
        });
        self.lock().push(removal);
    }

    /// Removes containers of a session whose lock this is, and then the volume that they share,
    /// and returns at once.
    pub fn remove_sharing(
        &self,
        containers: Vec<ContainerLease>,
        volume: VolumeLease,
        session: File,
    ) {
        let removal = thread::spawn(move || {
            for container in containers {
                // As above.
                drop(container.release());
            }
            drop(volume.release());
            drop(session);
        });
        self.lock().push(removal);
    }

    /// Waits until all of them are gone: a volume can't be removed before.
    pub fn finish(&self) {
        let removals = std::mem::take(&mut *self.lock());
        for removal in removals {
            // A panic there is no reason for another one here.
            drop(removal.join());
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for BackgroundRemovals {
    fn drop(&mut self) {
        self.finish();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use lazaret_runtime::fake::{FakeEngine, Verb};
    use lazaret_runtime::{Engine, EngineError};

    use super::*;
    use crate::store::file_lock::{take_lock, take_lock_within};

    #[test]
    fn a_session_is_in_use_until_its_containers_are_gone() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        let session = take_lock(&path).unwrap().unwrap();
        let fake = FakeEngine::new();
        let (go, gone) = mpsc::channel::<()>();
        fake.fail(Verb::RemoveContainer, 1, move || {
            let _told = gone.recv();
            EngineError::NotFound {
                what: "container",
                name: "agent".to_owned(),
            }
        });
        let engine: Arc<dyn Engine> = Arc::new(fake);
        let removals = BackgroundRemovals::default();
        let agent = ContainerLease::adopt(&engine, &"agent".parse().unwrap());
        removals.remove(agent, session.try_clone().unwrap());
        drop(session);
        assert!(take_lock(&path).unwrap().is_none());
        go.send(()).unwrap();
        removals.finish();
        // A process that another test starts has a copy for a moment.
        assert!(take_lock_within(&path, 1000).unwrap().is_some());
    }
}
