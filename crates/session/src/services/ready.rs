//! Waits until a service is ready.
//!
//! What is tried runs in the service's own container, whose loopback is the command's: so the
//! command's image needs no client.

use std::io;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use lazaret_image_builder::Readiness;
use lazaret_protocol::Verb;
use lazaret_runtime::{Process, ProcessControl};

use super::error::ServiceError;
use super::server::Server;
use super::unit::Unit;
use crate::context::SessionContext;
use crate::engine::signal::SIGKILL;

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
        if is_ready(unit, server)? || unit.ends() {
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
fn is_ready(unit: &Unit, server: &Server) -> Result<bool, ServiceError> {
    match &unit.service.ready {
        None => Ok(true),
        Some(Readiness::Tcp(port)) => {
            let dial = Verb::Dial { port: port.get() };
            let ended = attempt(server.spawn(unit, &dial.to_command())?, CONNECTED);
            // A server that waits for a word keeps the connection.
            Ok(ended.is_none_or(|code| code == 0))
        }
        Some(Readiness::Command(argv)) => {
            Ok(attempt(server.spawn(unit, argv)?, COMMAND) == Some(0))
        }
    }
}

/// Runs a process to its end, and returns its exit code; `None` if it was killed because it took
/// longer than `limit`.
fn attempt(process: Process, limit: Duration) -> Option<i32> {
    let Process {
        stdin,
        stdout,
        stderr,
        control,
    } = process;
    drop(stdin);
    for mut stream in [stdout, stderr] {
        thread::spawn(move || drop(io::copy(&mut stream, &mut io::sink())));
    }
    let control: Arc<dyn ProcessControl> = control.into();
    let (tell, ended) = mpsc::channel();
    let waiting = Arc::clone(&control);
    thread::spawn(move || drop(tell.send(waiting.wait())));
    match ended.recv_timeout(limit) {
        // What can't be followed any more was not ready.
        Ok(code) => Some(code.unwrap_or(-1)),
        Err(_) => {
            drop(control.signal(SIGKILL));
            None
        }
    }
}
