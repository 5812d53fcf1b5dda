//! `Spawner`: starts processes in one running container, whatever carries their streams.

use std::fmt;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::seat::{ConnectionChange, ConnectionChanges};
use crate::{
    ConnectedChannel, ContainerName, Engine, EngineError, ExecSpec, Process, ProcessControl,
    StartError, Terminal, TerminalSize, WhenAbandoned, seat,
};

/// What starts processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// PID 1, over its channel; the engine where that can't be reached.
    InitChannelIfThere,
    /// The engine alone.
    EngineOnly,
    /// The engine alone, over a network: a process that ends with its [`Process`] outlives a lost
    /// connection.
    RemoteEngine {
        /// How long it waits for another connection, in whole seconds.
        grace: Duration,
    },
}

/// Starts processes in one running container.
///
/// With PID 1's channel it is also the container's lifeline: when it and every process that it
/// started are dropped, or this process dies, PID 1 ends everything in the container. So it lives
/// as long as the container is used.
pub struct Spawner {
    engine: Arc<dyn Engine>,
    container: ContainerName,
    transport: Transport,
    route: Mutex<Route>,
    changes: Arc<ConnectionChanges>,
}

/// Ends what [`Spawner::connection_changes`] tells when it is dropped.
#[derive(Debug)]
pub struct EndChanges<'a>(&'a ConnectionChanges);

impl Drop for EndChanges<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// How processes are started, as far as that is known.
struct Route {
    /// Whether the channel is still to be tried.
    is_open: bool,
    /// Kept even if the engine starts everything: letting go of it is a hang-up.
    channel: Option<Arc<ConnectedChannel>>,
    is_direct: bool,
}

impl fmt::Debug for Spawner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spawner")
            .field("container", &self.container)
            .field("is_direct", &self.is_direct())
            .finish_non_exhaustive()
    }
}

impl Spawner {
    /// Returns the spawner of a container. Nothing is asked of it before the first process.
    pub fn new(engine: Arc<dyn Engine>, container: ContainerName, transport: Transport) -> Self {
        Self {
            engine,
            container,
            transport,
            route: Mutex::new(Route {
                is_open: transport == Transport::InitChannelIfThere,
                channel: None,
                is_direct: false,
            }),
            changes: Arc::default(),
        }
    }

    /// Returns the container.
    pub fn container(&self) -> &ContainerName {
        &self.container
    }

    /// Starts a process.
    ///
    /// A terminal needs a command of `porter run`, as do a process that ends with its [`Process`]
    /// and one that is signalled where only the engine starts processes.
    ///
    /// # Errors
    /// The engine's, or PID 1's: it runs 32 processes at once.
    pub fn spawn(&self, spec: &ExecSpec) -> Result<Process, EngineError> {
        match self.channel() {
            Some(channel) => self.spawn_direct(&channel, spec),
            None => self.spawn_by_engine(spec),
        }
    }

    /// Returns what becomes of the connection of its processes from here on, until the value of
    /// [`Self::end_changes_on_drop`] is dropped. Only one on another machine has any to lose.
    pub fn connection_changes(&self) -> Receiver<ConnectionChange> {
        self.changes.listen()
    }

    /// Returns what ends [`Self::connection_changes`].
    pub fn end_changes_on_drop(&self) -> EndChanges<'_> {
        EndChanges(&self.changes)
    }

    /// Returns true once a process was started past the engine.
    pub fn is_direct(&self) -> bool {
        self.route().is_direct
    }

    fn route(&self) -> MutexGuard<'_, Route> {
        self.route.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the channel, if processes are started over it.
    fn channel(&self) -> Option<Arc<ConnectedChannel>> {
        let mut route = self.route();
        if route.is_open && route.channel.is_none() {
            let channel = self.engine.init_channel(&self.container);
            let connected = channel.and_then(|channel| channel.connect().ok());
            route.is_open = connected.is_some();
            route.channel = connected.map(Arc::new);
        }
        route.channel.clone().filter(|_| route.is_open)
    }

    fn spawn_direct(
        &self,
        channel: &Arc<ConnectedChannel>,
        spec: &ExecSpec,
    ) -> Result<Process, EngineError> {
        let started = match spec.terminal {
            Terminal::None => channel.start(spec).map(Ok),
            Terminal::Allocated(_) => {
                let seat = channel.start(&seat::around(spec)?);
                seat.map(|seat| seat::process(seat, spec))
            }
        };
        match started {
            Ok(process) => {
                self.route().is_direct = true;
                process
            }
            Err(StartError::Io(_)) if !self.is_direct() => {
                // PID 1 has never started anything, so the engine starts all there is.
                self.route().is_open = false;
                let process = self.spawn_by_engine(spec)?;
                Ok(Process {
                    control: Box::new(Held {
                        control: process.control,
                        _channel: Arc::clone(channel),
                    }),
                    ..process
                })
            }
            Err(error) => Err(EngineError::NotStarted {
                container: self.container.clone(),
                cause: error.to_string(),
            }),
        }
    }

    fn spawn_by_engine(&self, spec: &ExecSpec) -> Result<Process, EngineError> {
        if spec.terminal == Terminal::None && spec.when_abandoned == WhenAbandoned::Leave {
            return self.engine.exec(&self.container, spec);
        }
        match self.transport {
            Transport::RemoteEngine { grace } if spec.when_abandoned == WhenAbandoned::End => {
                seat::start_resumable(&self.engine, &self.container, spec, grace, &self.changes)
            }
            _ => {
                let seat = self.engine.exec(&self.container, &seat::around(spec)?)?;
                seat::process(seat, spec)
            }
        }
    }
}

/// A process of the engine's, in a container whose channel is taken.
struct Held {
    control: Box<dyn ProcessControl>,
    _channel: Arc<ConnectedChannel>,
}

impl ProcessControl for Held {
    fn wait(&self) -> Result<i32, EngineError> {
        self.control.wait()
    }

    fn resize(&self, size: TerminalSize) -> Result<(), EngineError> {
        self.control.resize(size)
    }

    fn signal(&self, signal: i32) -> Result<(), EngineError> {
        self.control.signal(signal)
    }
}
