//! Leases: volumes and containers that are removed on drop, or by an interrupt handler.
//!
//! Every live lease stands in one table of the process, so that a handler on another
//! thread can remove what the interrupted work would have removed. A removal that
//! fails is tried again, then recorded, never swallowed (docs/design/threats.md FLT-24).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::{ContainerName, Engine, EngineError, HardenedSpec, VolumeName};

/// How often a removal is tried, and how long to wait before each further try.
const RETRY_AFTER: [Duration; 3] = [
    Duration::from_millis(50),
    Duration::from_millis(250),
    Duration::from_millis(1000),
];

/// How long [`release_all`] waits for creations that are under way.
const PENDING_LIMIT: Duration = Duration::from_secs(10);

/// Something that could not be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// `container` or `volume`.
    pub what: &'static str,
    /// Its name.
    pub name: String,
    /// The last cause, in words; may hold the engine's own, so escape it on a terminal.
    pub cause: String,
}

/// Why a lease could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// [`release_all`] ran meanwhile; what was created is removed again.
    #[error("interrupted")]
    Interrupted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Resource {
    Container(ContainerName),
    Volume(VolumeName),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The engine was asked to create it and has not answered. It may turn out to be
    /// someone else's, so it must not be removed yet.
    Pending,
    Held,
}

struct Entry {
    engine: Arc<dyn Engine>,
    resource: Resource,
    stage: Stage,
}

struct Table {
    next: u64,
    entries: BTreeMap<u64, Entry>,
    leftovers: Vec<Leftover>,
    /// Set by [`release_all`]: from then on nothing new may be created.
    closed: bool,
}

/// The table and the news that a creation is settled.
struct Registry {
    table: Mutex<Table>,
    settled: Condvar,
}

/// The process's one.
static REGISTRY: Registry = Registry::new();

impl Registry {
    const fn new() -> Self {
        Self {
            table: Mutex::new(Table {
                next: 0,
                entries: BTreeMap::new(),
                leftovers: Vec::new(),
                closed: false,
            }),
            settled: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // A panic elsewhere must not keep the rest from being removed.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn release_all(&self) -> Vec<Leftover> {
        let mut table = self.lock();
        table.closed = true;
        let held: Vec<u64> = table
            .entries
            .iter()
            .filter(|(_, entry)| entry.stage == Stage::Held)
            .map(|(key, _)| *key)
            .collect();
        let mut entries: Vec<Entry> = held
            .iter()
            .rev()
            .filter_map(|key| table.entries.remove(key))
            .collect();
        drop(table);

        entries.sort_by_key(|entry| matches!(entry.resource, Resource::Volume(_)));
        for entry in entries {
            if let Err(error) = entry.resource.remove_stubbornly(&*entry.engine) {
                self.lock().leftovers.push(entry.resource.leftover(&error));
            }
        }

        let (table, _) = self
            .settled
            .wait_timeout_while(self.lock(), PENDING_LIMIT, |table| {
                !table.entries.is_empty()
            })
            .unwrap_or_else(PoisonError::into_inner);
        table.leftovers.clone()
    }
}

impl Resource {
    fn remove(&self, engine: &dyn Engine) -> Result<(), EngineError> {
        let result = match self {
            Self::Container(name) => engine.remove_container(name),
            Self::Volume(name) => engine.remove_volume(name),
        };
        match result {
            Err(EngineError::NotFound { .. }) => Ok(()),
            other => other,
        }
    }

    fn remove_stubbornly(&self, engine: &dyn Engine) -> Result<(), EngineError> {
        let mut result = self.remove(engine);
        for pause in RETRY_AFTER {
            if result.is_ok() {
                break;
            }
            std::thread::sleep(pause);
            result = self.remove(engine);
        }
        result
    }

    fn leftover(&self, error: &EngineError) -> Leftover {
        let (what, name) = match self {
            Self::Container(name) => ("container", name.as_str()),
            Self::Volume(name) => ("volume", name.as_str()),
        };
        Leftover {
            what,
            name: name.to_owned(),
            cause: error.to_string(),
        }
    }
}

/// One row of the table.
struct Guard {
    registry: &'static Registry,
    key: u64,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl Guard {
    fn create(
        registry: &'static Registry,
        engine: &Arc<dyn Engine>,
        resource: Resource,
        create: impl FnOnce() -> Result<(), EngineError>,
    ) -> Result<Self, LeaseError> {
        let guard = Self::register(registry, engine, resource.clone(), Stage::Pending)?;
        let created = create();
        let mut table = registry.lock();
        if created.is_err() {
            table.entries.remove(&guard.key);
        } else if table.closed {
            drop(table);
            // No other holder: release_all leaves pending rows to us.
            let removed = resource.remove_stubbornly(&**engine);
            table = registry.lock();
            table.entries.remove(&guard.key);
            if let Err(error) = removed {
                table.leftovers.push(resource.leftover(&error));
            }
            registry.settled.notify_all();
            return Err(LeaseError::Interrupted);
        } else if let Some(entry) = table.entries.get_mut(&guard.key) {
            entry.stage = Stage::Held;
        }
        registry.settled.notify_all();
        drop(table);
        created?;
        Ok(guard)
    }

    fn register(
        registry: &'static Registry,
        engine: &Arc<dyn Engine>,
        resource: Resource,
        stage: Stage,
    ) -> Result<Self, LeaseError> {
        let mut table = registry.lock();
        if table.closed {
            return Err(LeaseError::Interrupted);
        }
        let key = table.next;
        table.next += 1;
        let engine = Arc::clone(engine);
        table.entries.insert(
            key,
            Entry {
                engine,
                resource,
                stage,
            },
        );
        Ok(Self { registry, key })
    }

    /// Takes the row out, so that nothing removes it any more.
    fn forget(&self) -> Option<Entry> {
        self.registry.lock().entries.remove(&self.key)
    }

    fn release(&self) -> Result<(), EngineError> {
        let Some(Entry {
            engine, resource, ..
        }) = self.forget()
        else {
            return Ok(());
        };
        let result = resource.remove_stubbornly(&*engine);
        if let Err(error) = &result {
            self.registry
                .lock()
                .leftovers
                .push(resource.leftover(error));
        }
        result
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // A failure is in the list of leftovers.
        drop(self.release());
    }
}

/// A volume that is removed with this value.
#[derive(Debug)]
#[must_use = "the volume is removed at once; end the lease with keep() or release()"]
pub struct VolumeLease {
    name: VolumeName,
    guard: Guard,
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
    ) -> Result<Self, LeaseError> {
        let guard = Guard::create(&REGISTRY, engine, Resource::Volume(name.clone()), || {
            engine.create_volume(name, labels)
        })?;
        Ok(Self {
            name: name.clone(),
            guard,
        })
    }

    /// Takes over a volume that exists, such as a recovered session's.
    ///
    /// # Errors
    /// When [`release_all`] has run.
    pub fn adopt(engine: &Arc<dyn Engine>, name: &VolumeName) -> Result<Self, LeaseError> {
        Ok(Self {
            name: name.clone(),
            guard: Guard::register(
                &REGISTRY,
                engine,
                Resource::Volume(name.clone()),
                Stage::Held,
            )?,
        })
    }

    /// Returns the volume's name.
    pub fn name(&self) -> &VolumeName {
        &self.name
    }

    /// Ends the lease and leaves the volume.
    pub fn keep(self) -> VolumeName {
        drop(self.guard.forget());
        self.name.clone()
    }

    /// Ends the lease and removes the volume now.
    ///
    /// # Errors
    /// When it can't be removed; it is then among the [`leftovers`] too.
    pub fn release(self) -> Result<(), EngineError> {
        self.guard.release()
    }
}

/// A container that is killed and removed with this value.
#[derive(Debug)]
#[must_use = "the container is removed at once; end the lease with keep() or release()"]
pub struct ContainerLease {
    name: ContainerName,
    guard: Guard,
}

impl ContainerLease {
    /// Creates a container.
    ///
    /// # Errors
    /// [`EngineError::AlreadyExists`] for a name that is taken: that container is left alone.
    pub fn create(engine: &Arc<dyn Engine>, spec: &HardenedSpec) -> Result<Self, LeaseError> {
        let name = spec.spec().name.clone();
        let guard = Guard::create(&REGISTRY, engine, Resource::Container(name.clone()), || {
            engine.create_container(spec)
        })?;
        Ok(Self { name, guard })
    }

    /// Takes over a container that exists.
    ///
    /// # Errors
    /// When [`release_all`] has run.
    pub fn adopt(engine: &Arc<dyn Engine>, name: &ContainerName) -> Result<Self, LeaseError> {
        Ok(Self {
            name: name.clone(),
            guard: Guard::register(
                &REGISTRY,
                engine,
                Resource::Container(name.clone()),
                Stage::Held,
            )?,
        })
    }

    /// Returns the container's name.
    pub fn name(&self) -> &ContainerName {
        &self.name
    }

    /// Ends the lease and leaves the container.
    pub fn keep(self) -> ContainerName {
        drop(self.guard.forget());
        self.name.clone()
    }

    /// Ends the lease and removes the container now.
    ///
    /// # Errors
    /// When it can't be removed; it is then among the [`leftovers`] too.
    pub fn release(self) -> Result<(), EngineError> {
        self.guard.release()
    }
}

/// Removes everything under lease, the newest first and containers before volumes, and
/// returns what is left over.
///
/// For an interrupt handler, right before the process ends: no lease can be taken any
/// more. Creations under way are waited for, ten seconds at most.
pub fn release_all() -> Vec<Leftover> {
    REGISTRY.release_all()
}

/// Returns what could not be removed so far.
pub fn leftovers() -> Vec<Leftover> {
    REGISTRY.lock().leftovers.clone()
}

#[cfg(all(test, feature = "fake"))]
mod tests {
    use super::*;
    use crate::fake::{FakeEngine, Verb};

    fn registry() -> &'static Registry {
        Box::leak(Box::new(Registry::new()))
    }

    fn volume(name: &str) -> Resource {
        Resource::Volume(name.parse().unwrap())
    }

    fn create(
        registry: &'static Registry,
        engine: &Arc<dyn Engine>,
        name: &str,
        during: impl FnOnce(),
    ) -> Result<Guard, LeaseError> {
        Guard::create(registry, engine, volume(name), || {
            engine.create_volume(
                &name.parse().unwrap(),
                &BTreeMap::from([("k".into(), "v".into())]),
            )?;
            during();
            Ok(())
        })
    }

    #[test]
    fn everything_held_is_released_and_nothing_more_created() {
        let registry = registry();
        let engine: Arc<dyn Engine> = Arc::new(FakeEngine::new());
        let first = create(registry, &engine, "first", || ()).unwrap();
        let second = create(registry, &engine, "second", || ()).unwrap();
        assert_eq!(registry.release_all(), []);
        assert_eq!(engine.volumes("k").unwrap(), []);
        let refused = create(registry, &engine, "third", || ());
        assert!(
            matches!(refused, Err(LeaseError::Interrupted)),
            "{refused:?}"
        );
        drop((first, second));
        assert_eq!(registry.lock().leftovers, []);
    }

    #[test]
    fn a_creation_under_way_is_waited_for_and_undone() {
        let registry = registry();
        let engine: Arc<dyn Engine> = Arc::new(FakeEngine::new());
        let (begun, begins) = std::sync::mpsc::channel();
        let creating = {
            let engine = Arc::clone(&engine);
            std::thread::spawn(move || {
                create(registry, &engine, "pending", || {
                    begun.send(()).unwrap();
                    while !registry.lock().closed {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                })
            })
        };
        begins.recv().unwrap();
        assert_eq!(registry.release_all(), []);
        assert_eq!(engine.volumes("k").unwrap(), []);
        let refused = creating.join().unwrap();
        assert!(
            matches!(refused, Err(LeaseError::Interrupted)),
            "{refused:?}"
        );
    }

    #[test]
    fn flt_24_what_is_left_over_is_named() {
        let registry = registry();
        let fake = FakeEngine::new();
        let engine: Arc<dyn Engine> = Arc::new(fake.clone());
        let guard = create(registry, &engine, "stuck", || ()).unwrap();
        for _ in 0..4 {
            fake.fail(Verb::RemoveVolume, 1, || EngineError::InUse {
                what: "volume",
                name: "stuck".to_owned(),
            });
        }
        let left = registry.release_all();
        assert_eq!(left.len(), 1);
        assert_eq!(left.first().map(|left| left.name.as_str()), Some("stuck"));
        drop(guard);
    }
}
