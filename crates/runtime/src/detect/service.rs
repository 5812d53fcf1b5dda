//! A private `podman system service`: started where Podman is installed and listens
//! nowhere, ended with the engine that uses it.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use tempfile::TempDir;

use super::Endpoint;
use crate::EngineError;
use crate::api::ServiceGuard;

/// How long the service may take to listen.
const START_LIMIT: Duration = Duration::from_secs(10);

/// How long it may take to end when asked to.
const END_LIMIT: Duration = Duration::from_secs(3);

/// The service ends by itself after so many idle seconds, in case this process is killed
/// and can't end it. Containers go on without it, and it is started again when needed.
const IDLE: &str = "600";

/// The service and its socket, in a directory that only this user can enter.
#[derive(Debug)]
pub(super) struct PodmanService {
    program: PathBuf,
    directory: TempDir,
    child: Mutex<duct::Handle>,
}

impl PodmanService {
    /// Starts the service and waits until it listens.
    ///
    /// # Errors
    /// When it can't be started or ends at once; with what it said.
    pub(super) fn start(program: &Path) -> Result<Self, EngineError> {
        let unreachable = |source| EngineError::Unreachable {
            endpoint: format!("{} system service", program.display()),
            source,
        };
        // 0700; a socket's path may not be longer than 107 bytes, so not under a deep one.
        let directory = tempfile::Builder::new()
            .prefix("lazaret-podman-")
            .tempdir_in("/tmp")
            .map_err(unreachable)?;
        let child = spawn(program, directory.path()).map_err(unreachable)?;
        Ok(Self {
            program: program.to_owned(),
            directory,
            child: Mutex::new(child),
        })
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        Endpoint::Unix(socket(self.directory.path()))
    }
}

impl ServiceGuard for PodmanService {
    fn ensure(&self) -> io::Result<()> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if child.try_wait()?.is_some() {
            *child = spawn(&self.program, self.directory.path())?;
        }
        Ok(())
    }
}

impl Drop for PodmanService {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Nothing is lost with it: containers are children of their own monitors.
        // Rootless Podman is two processes, and only a signal that can be passed on
        // reaches the one that listens.
        for pid in child.pids() {
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                // One that is gone already needs no signal.
                let _gone = rustix::process::kill_process(pid, Signal::TERM);
            }
        }
        if !matches!(child.wait_timeout(END_LIMIT), Ok(Some(_))) {
            drop(child.kill());
        }
    }
}

fn socket(directory: &Path) -> PathBuf {
    directory.join("podman.sock")
}

fn spawn(program: &Path, directory: &Path) -> io::Result<duct::Handle> {
    let socket = socket(directory);
    if socket.exists() {
        std::fs::remove_file(&socket)?;
    }
    let url = format!("unix://{}", socket.display());
    let log = directory.join("log");
    let child = duct::cmd!(program, "system", "service", "--time", IDLE, url)
        .stdin_null()
        .stdout_null()
        .stderr_path(&log)
        .unchecked()
        .start()?;
    let deadline = Instant::now() + START_LIMIT;
    loop {
        if UnixStream::connect(&socket).is_ok() {
            return Ok(child);
        }
        let ended = child.try_wait()?.is_some();
        if ended || Instant::now() > deadline {
            child.kill()?;
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            let said = said.lines().last().unwrap_or("it said nothing").to_owned();
            return Err(io::Error::other(match ended {
                true => format!("it ended at once: {said}"),
                false => format!("it does not listen: {said}"),
            }));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
