//! Waits until a service is ready.
//!
//! What is tried runs in the service's own container, whose loopback is the command's: so the
//! command's image needs no client.

use std::time::{Duration, Instant};

use lazaret_image_builder::Readiness;
use lazaret_protocol::Verb;

use super::error::ServiceError;
use super::server::Server;
use super::unit::Unit;
use crate::context::SessionContext;
use crate::engine::attempt::{Attempt, Streams, run_to_end};

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(100);

/// How long a connection may last that nothing comes from: it is there.
const CONNECTED: Duration = Duration::from_secs(1);

/// How long a command may take.
const COMMAND: Duration = Duration::from_secs(10);

/// Waits until the service is ready.
///
/// # Errors
/// When it ends, or its time is up: with the end of its log.
pub(super) fn wait(
    cx: &SessionContext<'_>,
    unit: &Unit,
    server: &Server,
) -> Result<(), ServiceError> {
    let deadline = Instant::now() + unit.service.within;
    let mut pause = Duration::ZERO;
    loop {
        if let Some(code) = unit.await_end(pause) {
            return Err(ServiceError::Ended {
                name: unit.service.name.clone(),
                code,
                log: unit.last_lines(),
            });
        }
        cx.cancel.check()?;
        if is_ready(cx, unit, server)? || unit.ends() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(ServiceError::NotReady {
                name: unit.service.name.clone(),
                within: unit.service.within,
                log: unit.last_lines(),
            });
        }
        pause = PAUSE;
    }
}

/// Tries once.
fn is_ready(cx: &SessionContext<'_>, unit: &Unit, server: &Server) -> Result<bool, ServiceError> {
    let attempt = |argv: &[String], limit| -> Result<Attempt, ServiceError> {
        let process = server.spawn(unit, argv)?;
        Ok(run_to_end(process, Streams::discarded(), limit, cx.cancel))
    };
    Ok(match &unit.service.ready {
        None => true,
        Some(Readiness::Tcp(port)) => {
            let dial = Verb::Dial { port: port.get() };
            // A server that waits for a word keeps the connection.
            matches!(
                attempt(&dial.to_command(), CONNECTED)?,
                Attempt::Exited(0) | Attempt::TookTooLong
            )
        }
        Some(Readiness::Command(argv)) => attempt(argv, COMMAND)? == Attempt::Exited(0),
    })
}
