//! `SessionContext`: what every step of a session works with.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lazaret_runtime::{
    ContainerName, Engine, EngineError, EngineInfo, ExecSpec, Process, SessionId, Spawner,
    Transport,
};

use crate::cancel::{Cancel, Guard};
use crate::engine::cleanup::BackgroundRemovals;
use crate::engine::info_cache::CacheHit;
use crate::engine::signal::SIGKILL;
use crate::event::{Counter, Event, EventSink};

/// Where the copy of the workspace lies inside, in every container of a session.
pub const WORKSPACE: &str = "/workspace";

/// What every step works with.
#[derive(Debug)]
pub struct SessionContext<'a> {
    /// The engine.
    pub engine: Arc<dyn Engine>,
    /// What its probe said.
    pub info: EngineInfo,
    /// Where that comes from, if this process has not probed the engine itself.
    pub cache_hit: Option<CacheHit<'a>>,
    /// The id of the state directory, for labels.
    pub store_id: String,
    /// Told what happens.
    pub events: &'a dyn EventSink,
    /// Ctrl-C and its like.
    pub cancel: &'a Cancel,
    /// How long each step took.
    pub timings: Timings,
    /// What is being removed meanwhile.
    pub removals: BackgroundRemovals,
    /// Whether processes of ours are started through [`Engine::init_channel`], where there is one.
    pub use_init_channel: bool,
    /// How long a command on another machine waits for a lost connection, in whole seconds.
    pub reconnect_grace: Duration,
}

/// How long each step took, for the `phases` of `run --json`.
#[derive(Debug, Default)]
pub struct Timings(Mutex<BTreeMap<String, u64>>);

impl Timings {
    /// Notes a step's duration under `<name>_ms`; a step that runs twice is added up.
    pub fn note(&self, name: &str, took: Duration) {
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = table
            .entry(format!("{}_ms", name.replace(' ', "_")))
            .or_default();
        *entry = entry.saturating_add(millis);
    }

    /// Returns the table, by name.
    pub fn table(&self) -> BTreeMap<String, u64> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl SessionContext<'_> {
    /// Ends a container as soon as the user wants an end, so that whatever waits for it
    /// returns (FLT-08). It is removed in any case.
    pub(crate) fn kill_on_cancel(&self, container: &ContainerName) -> Guard {
        let (engine, name) = (Arc::clone(&self.engine), container.clone());
        self.cancel.guard(move |_| {
            // It may have ended by itself.
            drop(engine.signal_container(&name, SIGKILL));
        })
    }

    /// Returns what starts processes in a container: it lives as long as that is used.
    pub(crate) fn spawner(&self, container: &ContainerName) -> Spawner {
        let transport = match self.use_init_channel {
            _ if self.info.resumes_connections() => Transport::RemoteEngine {
                grace: self.reconnect_grace,
            },
            true => Transport::InitChannelIfThere,
            false => Transport::EngineOnly,
        };
        Spawner::new(Arc::clone(&self.engine), container.clone(), transport)
    }

    /// Starts the first process of ours in a container, and says which way.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn spawn_first(
        &self,
        spawner: &Spawner,
        spec: &ExecSpec,
    ) -> Result<Process, EngineError> {
        let process = spawner.spawn(spec)?;
        if spawner.is_direct() {
            self.events.event(Event::StreamsDirect(spawner.container()));
        }
        Ok(process)
    }

    /// Runs one step, shown while it lasts and timed.
    ///
    /// # Errors
    /// The step's own.
    pub fn phase<T, E>(
        &self,
        name: &'static str,
        work: impl FnOnce(&Counter) -> Result<T, E>,
    ) -> Result<T, E> {
        let started = Instant::now();
        let counter = Counter::default();
        (self.events).event(Event::PhaseStarted(name, counter.clone()));
        let done = work(&counter);
        match done {
            Ok(_) => {
                self.timings.note(name, started.elapsed());
                self.events.event(Event::PhaseEnded(name));
            }
            Err(_) => self.events.event(Event::PhaseFailed(name)),
        }
        done
    }
}

/// Names what a session has in its engine, for messages.
pub fn describe(id: &SessionId, container: &ContainerName) -> String {
    format!("container {container} of session {id}")
}
