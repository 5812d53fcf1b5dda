//! Finds PID 1's channel, and makes what a process is started with.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use lazaret_protocol::init::SpawnMessage;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, sockopt};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{PidfdGetfdFlags, pidfd_getfd};

use super::connection::{Connection, StartError};
use super::streams::{self, Handed};
use crate::{ExecSpec, Process, Stdin};

/// How long a container that was just started may take until its first process is the porter.
const OPENING: Duration = Duration::from_millis(250);

/// Between two tries.
const TICK: Duration = Duration::from_millis(1);

/// What a pipe is to hold, in bytes: the most that an unprivileged process may ask for.
const PIPE: usize = 1 << 20;

/// Starts a process whose streams are pipes of this process.
pub(super) fn start(connection: &Arc<Connection>, spec: &ExecSpec) -> Result<Process, StartError> {
    let message = message(spec)?.to_bytes();
    let (inside, host) = pipes()?;
    let entry = connection.start(&inside)?;
    drop(inside);
    let HostPipes {
        mut stdin,
        stdout,
        stderr,
    } = host;
    stdin.write_all(&message)?;
    let stdin = match spec.stdin {
        Stdin::Piped => Some(stdin),
        Stdin::Closed => None,
    };
    let handed = Handed {
        connection: Arc::clone(connection),
        entry,
        when_abandoned: spec.when_abandoned,
    };
    Ok(streams::process(handed, stdin, stdout, stderr))
}

/// Returns what the process is to become.
fn message(spec: &ExecSpec) -> io::Result<SpawnMessage> {
    let directory = spec.workdir.as_deref().unwrap_or_default();
    let variables = spec
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let message = SpawnMessage::new(directory, &spec.argv, variables);
    message.map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Takes the channel's other end. Once a host has said a word on it there is none any more.
pub(super) fn find(process: &OwnedFd) -> io::Result<OwnedFd> {
    /// Where the porter's `init` puts it.
    const STDOUT: i32 = 1;
    let give_up = Instant::now() + OPENING;
    loop {
        let found = pidfd_getfd(process, STDOUT, PidfdGetfdFlags::empty())?;
        if is_channel(found.as_fd()) {
            return Ok(found);
        }
        if Instant::now() > give_up {
            return Err(io::ErrorKind::NotConnected.into());
        }
        thread::sleep(TICK);
    }
}

/// Whether it is of the kind that the porter makes: engines connect stdout with pipes, files
/// and terminals.
fn is_channel(found: BorrowedFd<'_>) -> bool {
    sockopt::socket_domain(found) == Ok(AddressFamily::UNIX)
        && sockopt::socket_type(found) == Ok(SocketType::SEQPACKET)
}

/// The ends of the pipes that stay here.
struct HostPipes {
    stdin: File,
    stdout: File,
    stderr: File,
}

fn pipes() -> io::Result<([OwnedFd; 3], HostPipes)> {
    let pipe = || {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        // One that stays small is slower, and as good.
        let _small = rustix::pipe::fcntl_setpipe_size(&write, PIPE);
        Ok::<_, Errno>((read, write))
    };
    let (stdin, stdout, stderr) = (pipe()?, pipe()?, pipe_with(PipeFlags::CLOEXEC)?);
    for output in [&stdout.0, &stderr.0] {
        // Of our end alone: no process inside can make us wait.
        rustix::io::ioctl_fionbio(output, true)?;
    }
    let host = HostPipes {
        stdin: stdin.1.into(),
        stdout: stdout.0.into(),
        stderr: stderr.0.into(),
    };
    Ok(([stdin.0, stdout.1, stderr.1], host))
}
