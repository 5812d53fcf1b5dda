//! Restarts a service that dies, until its session ends.

use std::sync::Arc;
use std::time::Instant;

use lazaret_protocol::{Placement, exit};

use super::error::ServiceError;
use super::ready;
use super::server::Server;
use super::status::{ServiceChange, ServiceState};
use super::unit::{Deaths, Next, Unit};
use crate::context::SessionContext;
use crate::event::Event;

/// Watches over one service: a death is followed by a restart after 1, 5 and 25 s, at most three in
/// 5 minutes; then the service is down until a user asks for a restart.
pub(super) fn supervise(
    cx: &SessionContext<'_>,
    unit: &Arc<Unit>,
    server: Server,
    beside: Placement,
    tell: &(dyn Fn(ServiceChange) + Sync),
) {
    let supervisor = Supervisor {
        cx,
        unit,
        beside,
        tell,
    };
    let _stopped = StoppedOnDrop(unit);
    let mut server = Some(server);
    let mut deaths = Deaths::default();
    while let Some(restart) = supervisor.await_restart(&mut server, &mut deaths) {
        if restart == Restart::Asked {
            deaths.forget();
        }
        server = supervisor.restart();
    }
    if let Some(server) = server {
        server.stop(cx, unit);
    }
}

/// Says that a service is stopped, also after a panic: its session waits for that.
struct StoppedOnDrop<'a>(&'a Unit);

impl Drop for StoppedOnDrop<'_> {
    fn drop(&mut self) {
        self.0.set(ServiceState::Stopped);
    }
}

/// Why a service is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Restart {
    AfterDeath,
    Asked,
}

struct Supervisor<'a> {
    cx: &'a SessionContext<'a>,
    unit: &'a Arc<Unit>,
    beside: Placement,
    tell: &'a (dyn Fn(ServiceChange) + Sync),
}

impl Supervisor<'_> {
    /// Waits until the service is to be started again; `None` once its session ends. No server is
    /// left in the first case.
    fn await_restart(&self, server: &mut Option<Server>, deaths: &mut Deaths) -> Option<Restart> {
        let code = match self.unit.next() {
            Next::End => return None,
            Next::Restart => {
                self.unit.set(ServiceState::Starting);
                if let Some(server) = server.take() {
                    server.stop(self.cx, self.unit);
                }
                return Some(Restart::Asked);
            }
            Next::Died(code) => code,
            Next::Time => i32::from(exit::FAILED),
        };
        // With what it left behind.
        drop(server.take());
        let pause = deaths.note(Instant::now());
        let state = match pause {
            Some(_) => ServiceState::Waiting,
            None => ServiceState::Down,
        };
        self.unit.set(state);
        self.cx.events.event(Event::ServiceDied {
            name: &self.unit.service.name,
            code,
            again_in: pause,
        });
        self.tell(state, Some(code));
        match self.unit.next_wish(pause) {
            Next::End => None,
            Next::Restart => Some(Restart::Asked),
            Next::Time | Next::Died(_) => Some(Restart::AfterDeath),
        }
    }

    /// Starts it again; `None` if that fails, which counts as a death.
    fn restart(&self) -> Option<Server> {
        let began = Instant::now();
        self.unit.count_restart();
        let started = Server::start(self.cx, self.unit, self.beside)
            .and_then(|server| ready::wait(self.cx, self.unit, &server).map(|()| server));
        match started {
            Ok(server) => {
                self.unit.set(ServiceState::Ready);
                let (name, took) = (&self.unit.service.name, began.elapsed());
                self.cx.events.event(Event::ServiceReady { name, took });
                self.tell(ServiceState::Ready, None);
                Some(server)
            }
            Err(error) => {
                let code = match error {
                    ServiceError::Ended { code, .. } => code,
                    _ => i32::from(exit::FAILED),
                };
                if !matches!(error, ServiceError::Interrupted(_)) {
                    self.cx.events.event(Event::ServiceNotStarted(&error));
                }
                self.unit.start_failed(code);
                None
            }
        }
    }

    fn tell(&self, state: ServiceState, exit_code: Option<i32>) {
        (self.tell)(ServiceChange {
            name: self.unit.service.name.to_string(),
            state,
            exit_code,
            need: self.unit.service.need,
        });
    }
}
