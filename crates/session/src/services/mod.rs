//! Servers beside a command, such as a database: on `localhost`, each with a volume of its own.
//!
//! A service's container joins the network namespace of the agent's container, so it has the same
//! loopback and no other network. It is hardened and proven as that one is, and sees one volume,
//! never the workspace. Services start after the workspace is in place and before the command; the
//! command starts once every service is ready. They end after it, and before its container does,
//! which an engine can't remove while another container is in its network.
//!
//! | file | what |
//! |---|---|
//! | `container` | how it is hardened, and what it is called |
//! | `volume` | its volume, made once and kept until the session is removed |
//! | `server` | its container and process, from the start to the end |
//! | `ready` | whether it is ready |
//! | `unit` | what is known of it, and what is wanted |
//! | `supervise` | restarts |

mod container;
mod error;
mod ready;
mod server;
pub mod status;
mod supervise;
mod unit;
mod volume;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use lazaret_image_builder::{Pinned, Readiness, StopSignal};
use lazaret_protocol::Placement;
use lazaret_runtime::{Engine, EngineError, EnvName, Limits, Process, ServiceName, VolumeLease};

use self::server::Server;
use self::status::{ServiceChange, ServiceState, ServiceStatus};
use self::supervise::supervise;
use self::unit::Unit;
use crate::context::SessionContext;
use crate::event::Event;
use crate::store::SessionDir;
use crate::store::record::Record;

pub use self::error::ServiceError;

/// From SIGTERM to SIGKILL for a service that a launcher which died left behind.
const GRACE: Duration = Duration::from_secs(15);

/// A server, as a profile asks for it.
#[derive(Debug, Clone)]
pub struct Service {
    /// Its name.
    pub name: ServiceName,
    /// The image of its container.
    pub image: Pinned,
    /// The server and its arguments.
    pub argv: Vec<String>,
    /// Its variables beside those of the image.
    pub env: BTreeMap<EnvName, String>,
    /// Where its volume is mounted; `None` if it keeps nothing.
    pub data: Option<String>,
    /// By what it is known to be ready; `None` once it is started.
    pub ready: Option<Readiness>,
    /// How long it may take until then.
    pub within: Duration,
    /// What asks it to end.
    pub stop_signal: StopSignal,
    /// How long its volume lasts.
    pub keep: DataKeep,
    /// What becomes of its session if it is down.
    pub need: Need,
    /// Limits of its container.
    pub limits: Limits,
}

/// How long the volume of a service lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataKeep {
    /// As long as its session.
    Session,
    /// As long as the services run: each start begins with a new one.
    Run,
}

/// What becomes of a session if one of its services is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The command goes on.
    Optional,
    /// The session is stopped.
    Required,
}

/// Volumes that last no longer than the services ran. Dropping it leaves them: the next start, or
/// `rm`, removes them.
#[derive(Debug)]
#[must_use = "dropping it leaves them"]
pub(crate) struct RunVolumes(Vec<VolumeLease>);

/// A service that runs, for processes beside it.
#[derive(Debug)]
pub(crate) struct RunningService<'a> {
    unit: &'a Unit,
    server: &'a Server,
}

impl RunningService<'_> {
    /// Returns its image.
    pub(crate) fn image(&self) -> &Pinned {
        &self.unit.service.image
    }

    /// Starts a process in its container, held as the service is.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn spawn(&self, argv: &[String]) -> Result<Process, EngineError> {
        self.server.spawn(self.unit, argv)
    }
}

/// The services of a session whose command has not started. Dropping it removes their containers,
/// and those volumes that were made for this start.
#[derive(Debug, Default)]
#[must_use = "dropping it removes what was made"]
pub(crate) struct StartedServices {
    // Before the volumes, which they have mounted.
    servers: Vec<(Arc<Unit>, Server)>,
    /// Those that were made for this start.
    volumes: Vec<NewVolume>,
}

/// A volume that was made for a start.
#[derive(Debug)]
struct NewVolume {
    service: ServiceName,
    lease: VolumeLease,
    keep: DataKeep,
}

/// The services of a live session. Clones lead to the same ones; when the last but those of the
/// supervisors is dropped, nothing ends: see [`StopOnDrop`].
#[derive(Debug, Clone, Default)]
pub struct Services(Arc<Vec<Arc<Unit>>>);

/// Asks the services to end when it is dropped: also on the way out of an error or a panic.
#[derive(Debug)]
#[must_use = "the services end with it"]
pub(crate) struct StopOnDrop {
    services: Services,
    /// Volumes that last as long as the services run.
    of_run: Vec<VolumeLease>,
}

impl StartedServices {
    /// Makes volumes and containers, starts the servers, and waits until each is ready. They start
    /// side by side.
    ///
    /// # Errors
    /// The first that is not ready within its time, with the end of its log, or what else keeps it
    /// from starting. Nothing is left then.
    pub(crate) fn start(
        cx: &SessionContext<'_>,
        dir: &SessionDir,
        record: &Record,
        services: &[Service],
        porter: &Pinned,
        beside: Placement,
    ) -> Result<Self, ServiceError> {
        let mut started = Self::default();
        if services.is_empty() {
            return Ok(started);
        }
        cx.phase("services", |_| {
            let outcomes = thread::scope(|scope| {
                let starting: Vec<_> = services
                    .iter()
                    .map(|service| {
                        scope.spawn(move || start(cx, dir, record, service, porter, beside))
                    })
                    .collect();
                let joined = starting.into_iter().map(|starting| starting.join());
                joined
                    .map(|outcome| outcome.unwrap_or(Err(ServiceError::Panicked)))
                    .collect::<Vec<_>>()
            });
            let mut failure = None;
            for outcome in outcomes {
                match outcome {
                    Ok((unit, server, volume)) => {
                        started.servers.push((unit, server));
                        started.volumes.extend(volume);
                    }
                    // One that was interrupted says less than what interrupted it.
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            cx.cancel.check()?;
            match failure {
                Some(error) => Err(error),
                None => Ok(started),
            }
        })
    }

    /// The command starts: from now on the volumes stay, and a service that dies is restarted
    /// until the returned value is dropped.
    pub(crate) fn supervise<'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
        cx: &'scope SessionContext<'scope>,
        beside: Placement,
        tell: &'scope (dyn Fn(ServiceChange) + Sync),
    ) -> StopOnDrop {
        let mut of_run = Vec::new();
        for NewVolume { lease, keep, .. } in self.volumes {
            match keep {
                DataKeep::Session => drop(lease.keep()),
                DataKeep::Run => of_run.push(lease),
            }
        }
        let mut units = Vec::new();
        for (unit, server) in self.servers {
            units.push(Arc::clone(&unit));
            scope.spawn(move || supervise(cx, &unit, server, beside, tell));
        }
        StopOnDrop {
            services: Services(Arc::new(units)),
            of_run,
        }
    }

    /// Returns the service of this name.
    pub(crate) fn find(&self, name: &ServiceName) -> Option<RunningService<'_>> {
        let mut servers = self.servers.iter();
        let (unit, server) = servers.find(|(unit, _)| unit.service.name == *name)?;
        Some(RunningService { unit, server })
    }

    /// Whether a volume was made for this start.
    pub(crate) fn has_new_volume(&self) -> bool {
        !self.volumes.is_empty()
    }

    /// Whether a service begins without what an earlier start left in it.
    pub(crate) fn begins_anew(&self, name: &str) -> bool {
        let is_its = |service: &ServiceName| service.as_str() == name;
        let mut units = self.servers.iter().map(|(unit, _)| &unit.service);
        let keeps_nothing = units.any(|service| is_its(&service.name) && service.data.is_none());
        keeps_nothing || self.volumes.iter().any(|volume| is_its(&volume.service))
    }
}

/// Starts one service. Returns its volume if that was made for it now.
fn start(
    cx: &SessionContext<'_>,
    dir: &SessionDir,
    record: &Record,
    service: &Service,
    porter: &Pinned,
    beside: Placement,
) -> Result<(Arc<Unit>, Server, Option<NewVolume>), ServiceError> {
    let began = Instant::now();
    let owner = record.owner();
    let volume = match &service.data {
        Some(_) => {
            let volume = volume::of(&owner, &service.name);
            if service.keep == DataKeep::Run {
                // What a launcher that died has left.
                volume.remove(cx)?;
            }
            let given = dir.file("services").join(service.name.as_str());
            volume.provide(cx, porter, &given)?
        }
        None => None,
    };
    let volume = volume.map(|lease| NewVolume {
        service: service.name.clone(),
        lease,
        keep: service.keep,
    });
    let spec = container::hardened(cx, &owner, service)?;
    let unit = Arc::new(Unit::new(service.clone(), spec, dir)?);
    let server = Server::start(cx, &unit, beside)?;
    ready::wait(cx, &unit, &server)?;
    unit.set(ServiceState::Ready);
    cx.events.event(Event::ServiceReady {
        name: &service.name,
        took: began.elapsed(),
    });
    Ok((unit, server, volume))
}

impl Services {
    fn want_end(&self) {
        self.0.iter().for_each(|unit| unit.want_end());
    }

    /// Says where each is.
    pub fn status(&self) -> Vec<ServiceStatus> {
        self.0.iter().map(|unit| unit.status()).collect()
    }

    /// Asks for a restart of a service, also of one that is down. Says whether there is one of
    /// that name.
    pub fn restart(&self, name: &str) -> bool {
        let mut units = self.0.iter();
        let found = units.find(|unit| unit.service.name.as_str() == name);
        found.inspect(|unit| unit.want_restart()).is_some()
    }
}

impl StopOnDrop {
    /// Returns a handle to them.
    pub(crate) fn services(&self) -> Services {
        self.services.clone()
    }

    /// Ends them in good order, side by side, and removes their containers. Returns the volumes
    /// that last no longer.
    pub(crate) fn stop(mut self) -> RunVolumes {
        self.services.want_end();
        self.services.0.iter().for_each(|unit| unit.await_stopped());
        RunVolumes(std::mem::take(&mut self.of_run))
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.services.want_end();
        // They may still be mounted.
        drop(RunVolumes(std::mem::take(&mut self.of_run)));
    }
}

impl RunVolumes {
    /// Removes them, once no container has them mounted.
    pub(crate) fn remove(mut self) {
        for volume in self.0.drain(..) {
            // A failure is among the unremoved.
            drop(volume.release());
        }
    }
}

impl Drop for RunVolumes {
    fn drop(&mut self) {
        for volume in self.0.drain(..) {
            volume.keep();
        }
    }
}

/// Ends and removes the containers of services that a launcher which died left behind: before the
/// agent's, whose network they are in.
///
/// # Errors
/// The engine's.
pub(crate) fn remove_left(engine: &dyn Engine, record: &Record) -> Result<(), EngineError> {
    for service in &record.services {
        let container = record.owner().service(service);
        if engine.container(&container)?.is_some() {
            engine.stop_container(&container, GRACE)?;
            engine.remove_container(&container)?;
        }
    }
    Ok(())
}
