//! Removals in the background, which the launcher waits for only at its end.

use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use lazaret_runtime::{ContainerLease, VolumeLease};

/// Containers that are being removed, each on its own thread. What could not be removed is among
/// the runtime's unremoved resources, which are named at the end.
#[derive(Debug, Default)]
pub struct BackgroundRemovals(Mutex<Vec<JoinHandle<()>>>);

impl BackgroundRemovals {
    /// Removes a container, and returns at once.
    pub fn remove(&self, container: ContainerLease) {
        // A failure is among the unremoved.
        let removal = thread::spawn(move || drop(container.release()));
        self.lock().push(removal);
    }

    /// Removes containers and then the volume that they share, and returns at once.
    pub fn remove_sharing(&self, containers: Vec<ContainerLease>, volume: VolumeLease) {
        let removal = thread::spawn(move || {
            for container in containers {
                // As above.
                drop(container.release());
            }
            drop(volume.release());
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
