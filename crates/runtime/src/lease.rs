//! Leases: volumes and containers that are removed on drop.
//!
//! A removal that fails is tried again, then recorded, never swallowed
//! (docs/design/threats.md FLT-24).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::{ContainerName, Engine, EngineError, HardenedSpec, VolumeName};

/// How often a removal is tried, and how long to wait before each further try.
const RETRY_AFTER: [Duration; 3] = [
    Duration::from_millis(50),
    Duration::from_millis(250),
    Duration::from_millis(1000),
];

/// Something that could not be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnremovedResource {
    /// `container` or `volume`.
    pub what: &'static str,
    /// Its name.
    pub name: String,
    /// The last cause, in words; may hold the engine's own, so escape it on a terminal.
    pub cause: String,
}

/// What no lease of this process could remove.
static UNREMOVED: Mutex<Vec<UnremovedResource>> = Mutex::new(Vec::new());

fn lock_unremoved() -> MutexGuard<'static, Vec<UnremovedResource>> {
    // A panic elsewhere must not keep the rest from being named.
    UNREMOVED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns what could not be removed so far.
pub fn unremoved() -> Vec<UnremovedResource> {
    lock_unremoved().clone()
}

/// The name of something that an engine can remove.
pub trait Removable: Clone + fmt::Debug + fmt::Display {
    /// `container` or `volume`.
    const WHAT: &'static str;

    /// Removes it.
    ///
    /// # Errors
    /// The engine's.
    fn remove(&self, engine: &dyn Engine) -> Result<(), EngineError>;
}

impl Removable for ContainerName {
    const WHAT: &'static str = "container";

    fn remove(&self, engine: &dyn Engine) -> Result<(), EngineError> {
        engine.remove_container(self)
    }
}

impl Removable for VolumeName {
    const WHAT: &'static str = "volume";

    fn remove(&self, engine: &dyn Engine) -> Result<(), EngineError> {
        engine.remove_volume(self)
    }
}

/// A container or a volume that is removed with this value.
#[derive(Debug)]
#[must_use = "it is removed at once; end the lease with keep() or release()"]
pub struct Lease<N: Removable> {
    name: N,
    /// `None` once the lease has ended.
    engine: Option<Arc<dyn Engine>>,
}

/// A container that is killed and removed with this value.
pub type ContainerLease = Lease<ContainerName>;

/// A volume that is removed with this value.
pub type VolumeLease = Lease<VolumeName>;

impl ContainerLease {
    /// Creates a container.
    ///
    /// # Errors
    /// [`EngineError::AlreadyExists`] for a name that is taken: that container is left alone.
    pub fn create(engine: &Arc<dyn Engine>, spec: &HardenedSpec) -> Result<Self, EngineError> {
        engine.create_container(spec)?;
        Ok(Self::adopt(engine, &spec.spec().name))
    }
}

impl VolumeLease {
    /// Creates a volume.
    ///
    /// # Errors
    /// [`EngineError::AlreadyExists`] for a name that is taken: that volume is left alone.
    pub fn create(
        engine: &Arc<dyn Engine>,
        name: &VolumeName,
        labels: &BTreeMap<String, String>,
    ) -> Result<Self, EngineError> {
        engine.create_volume(name, labels)?;
        Ok(Self::adopt(engine, name))
    }
}

impl<N: Removable> Lease<N> {
    /// Takes over one that exists, such as a recovered session's.
    pub fn adopt(engine: &Arc<dyn Engine>, name: &N) -> Self {
        Self {
            name: name.clone(),
            engine: Some(Arc::clone(engine)),
        }
    }

    /// Returns its name.
    pub fn name(&self) -> &N {
        &self.name
    }

    /// Ends the lease and leaves what it holds.
    pub fn keep(mut self) -> N {
        self.engine = None;
        self.name.clone()
    }

    /// Ends the lease and removes what it holds now.
    ///
    /// # Errors
    /// When it can't be removed; it is then [`unremoved`] too.
    pub fn release(mut self) -> Result<(), EngineError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), EngineError> {
        let Some(engine) = self.engine.take() else {
            return Ok(());
        };
        let removed = remove_with_retries(&self.name, &*engine);
        if let Err(error) = &removed {
            lock_unremoved().push(UnremovedResource {
                what: N::WHAT,
                name: self.name.to_string(),
                cause: error.to_string(),
            });
        }
        removed
    }
}

impl<N: Removable> Drop for Lease<N> {
    fn drop(&mut self) {
        // A failure is among the unremoved.
        drop(self.end());
    }
}

fn remove_with_retries(name: &impl Removable, engine: &dyn Engine) -> Result<(), EngineError> {
    let remove = || match name.remove(engine) {
        Err(EngineError::NotFound { .. }) => Ok(()),
        other => other,
    };
    let mut result = remove();
    for pause in RETRY_AFTER {
        if result.is_ok() {
            break;
        }
        std::thread::sleep(pause);
        result = remove();
    }
    result
}
