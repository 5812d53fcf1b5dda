//! Starts a process in a running pod: a seat, whose streams one WebSocket carries.
//!
//! An exec of Kubernetes has no variables, no directory and no end of its input: closing stdin of
//! the protocol `v4.channel.k8s.io` closes the connection. So every process has a seat
//! ([`seat`](crate::seat)), which hears by a [`SpawnMessage`] what to start, and tells the exit code
//! itself. Neither arguments nor variables are in the request, where a cluster's log would keep
//! them. The client pings every 60 s, so that no proxy takes the connection for idle.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, Shared};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::api::{AttachParams, AttachedProcess};
use lazaret_protocol::init::SpawnMessage;
use lazaret_protocol::{SeatCommand, Seated, Verb};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::client::{CALL_LIMIT, CallContext, Inner};
use super::pod::CONTAINER;
use super::{pods, state};
use crate::{
    ContainerName, ContainerState, EngineError, ExecSpec, Process, ProcessControl, Stdin,
    TerminalSize, WhenAbandoned, seat,
};

/// Bytes that wait in each direction.
const BUFFER: usize = 1 << 20;

/// How long the kubelet may take to say that a container has ended, whose end cut a connection.
const END_LIMIT: Duration = Duration::from_secs(5);

/// The exit code of a process that SIGKILL has ended.
const KILLED: i32 = 137;

const VERB: &str = "exec";

pub(super) fn start(
    inner: &Arc<Inner>,
    name: &ContainerName,
    spec: &ExecSpec,
) -> Result<Process, EngineError> {
    let stream = |source| EngineError::Stream { verb: VERB, source };
    let directory = spec.workdir.as_deref().unwrap_or_default();
    let variables = spec.env.iter();
    let variables = variables.map(|(name, value)| format!("{name}={value}"));
    let message = SpawnMessage::new(directory, &spec.argv, variables);
    let message = message.map_err(|error| stream(io::Error::other(error)))?;
    let seat = connect(inner, name)?;
    let piped = ExecSpec::new(Vec::new(), Stdin::Piped);
    let mut process = seat::process(seat, &piped)?;
    if let Some(stdin) = &mut process.stdin {
        // A seat that is gone says why at the end of its output.
        let _told_later = stdin.write_all(&message.to_bytes());
    }
    if spec.stdin == Stdin::Closed {
        process.stdin = None;
    }
    Ok(held(process))
}

/// Has each part of a process keep its seat: that hears a hang-up when its control is dropped, and
/// any part may be the last that the caller keeps.
fn held(process: Process) -> Process {
    let control: Arc<dyn ProcessControl> = Arc::from(process.control);
    let input = |stream| -> Box<dyn Write + Send> {
        let control = Arc::clone(&control);
        Box::new(Held { stream, control })
    };
    let output = |stream| -> Box<dyn Read + Send> {
        let control = Arc::clone(&control);
        Box::new(Held { stream, control })
    };
    Process {
        stdin: process.stdin.map(input),
        stdout: output(process.stdout),
        stderr: output(process.stderr),
        control: Box::new(SharedControl(control)),
    }
}

/// A stream with the seat that it is of. The stream is dropped first: its end is heard then.
struct Held<S> {
    stream: S,
    #[expect(dead_code, reason = "it is kept, not used")]
    control: Arc<dyn ProcessControl>,
}

impl<S: Read> Read for Held<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }
}

impl<S: Write> Write for Held<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

struct SharedControl(Arc<dyn ProcessControl>);

impl ProcessControl for SharedControl {
    fn wait(&self) -> Result<i32, EngineError> {
        self.0.wait()
    }

    fn resize(&self, size: TerminalSize) -> Result<(), EngineError> {
        self.0.resize(size)
    }

    fn signal(&self, signal: i32) -> Result<(), EngineError> {
        self.0.signal(signal)
    }
}

/// Starts a seat, which waits for a message.
fn connect(inner: &Arc<Inner>, name: &ContainerName) -> Result<Process, EngineError> {
    let call = CallContext {
        verb: VERB,
        what: "container",
        name: name.as_str(),
    };
    let seat = Verb::Seat(SeatCommand {
        terminal: None,
        when_abandoned: WhenAbandoned::Leave,
        grace: None,
        seated: Seated::Message,
    });
    let params = AttachParams {
        container: Some(CONTAINER.to_owned()),
        stdin: true,
        max_stdin_buf_size: Some(BUFFER),
        max_stdout_buf_size: Some(BUFFER),
        ..AttachParams::default()
    };
    let attached = inner.call(CALL_LIMIT, call, async {
        let pods = inner.pods();
        pods.exec(name.as_str(), seat.to_command(), &params).await
    });
    let mut attached = attached.map_err(|error| explain(inner, name, error))?;
    let missing = || EngineError::Lost {
        verb: VERB,
        message: "the client gave no streams".to_owned(),
    };
    let status = attached.take_status().ok_or_else(missing)?.boxed().shared();
    let stdin = attached.stdin().ok_or_else(missing)?;
    let stdout = attached.stdout().ok_or_else(missing)?;
    let stderr = attached.stderr().ok_or_else(missing)?;
    let connection = Arc::new(Connection {
        inner: Arc::clone(inner),
        name: name.clone(),
        status,
        attached: Mutex::new(Some(attached)),
    });
    let output = |stream: Box<dyn AsyncRead + Send + Sync + Unpin>| Output {
        connection: Arc::clone(&connection),
        stream,
    };
    Ok(Process {
        stdin: Some(Box::new(Input {
            connection: Arc::clone(&connection),
            stream: Box::new(stdin),
        })),
        stdout: Box::new(Frames(output(Box::new(stdout)))),
        stderr: Box::new(output(Box::new(stderr))),
        control: Box::new(Control(connection)),
    })
}

/// Says why a process was not started, in the words of who knows most.
fn explain(inner: &Inner, name: &ContainerName, error: EngineError) -> EngineError {
    let Ok(pod) = pods::get(inner, VERB, name) else {
        return error;
    };
    if let Some(failure) = state::failure(&pod) {
        return EngineError::cluster(failure);
    }
    match state::of(&pod) {
        ContainerState::Running => error,
        _ => EngineError::Refused {
            verb: VERB,
            status: 409,
            message: format!("container {name} is not running"),
        },
    }
}

/// One WebSocket; it closes once the seat's frames are read no further, or with the last that uses
/// it.
struct Connection {
    inner: Arc<Inner>,
    name: ContainerName,
    /// How the seat ended; `None` if the connection broke before.
    status: Shared<BoxFuture<'static, Option<Status>>>,
    attached: Mutex<Option<AttachedProcess>>,
}

impl Connection {
    /// Closes it, which the seat hears as the end of its input.
    fn close(&self) {
        let mut attached = self.attached.lock().unwrap_or_else(PoisonError::into_inner);
        // The client's task ends with it.
        drop(attached.take());
    }

    /// Returns why the client ended the connection, once it has.
    fn cause(&self) -> String {
        let mut attached = self.attached.lock().unwrap_or_else(PoisonError::into_inner);
        let joined = attached.take().map(AttachedProcess::join);
        match joined.map(|joined| self.inner.runtime.block_on(joined)) {
            Some(Err(error)) => format!("the connection was cut: {error}"),
            Some(Ok(())) | None => "the connection was cut".to_owned(),
        }
    }
}

struct Input {
    connection: Arc<Connection>,
    stream: Box<dyn AsyncWrite + Send + Unpin>,
}

impl Write for Input {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let status = self.connection.status.clone();
        let write = self.stream.write(bytes);
        self.connection.inner.runtime.block_on(async {
            tokio::select! {
                written = write => written,
                _ended = status => Err(io::ErrorKind::BrokenPipe.into()),
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Output {
    connection: Arc<Connection>,
    stream: Box<dyn AsyncRead + Send + Sync + Unpin>,
}

impl Read for Output {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let status = self.connection.status.clone();
        let stream = &mut self.stream;
        self.connection.inner.runtime.block_on(async {
            tokio::select! {
                biased;
                read = stream.read(&mut *buffer) => return read,
                _ended = status => {}
            }
            // What came before the end is there already.
            stream.read(buffer).now_or_never().unwrap_or(Ok(0))
        })
    }
}

/// What the seat says. Its reader stops at the exit code, and only then may the seat end: its end
/// ends the connection at once, with everything that is still on its way.
struct Frames(Output);

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        self.0.connection.close();
    }
}

struct Control(Arc<Connection>);

impl ProcessControl for Control {
    /// Asked only if the seat did not tell the exit code of its process: then the seat itself
    /// failed, or the way to it.
    fn wait(&self) -> Result<i32, EngineError> {
        let Connection {
            inner,
            name,
            status,
            ..
        } = &*self.0;
        let status = inner.runtime.block_on(status.clone());
        if let Some(code) = status.as_ref().and_then(exit_code) {
            return Ok(code);
        }
        let lost = |message| {
            Err(EngineError::Lost {
                verb: VERB,
                message,
            })
        };
        if let Some(message) = status.and_then(|status| status.message) {
            return lost(message);
        }
        let cause = self.0.cause();
        // PID 1 takes every process with it; the kubelet says so a moment later.
        let _known_soon = pods::ended_within(inner, name, END_LIMIT);
        let Ok(pod) = pods::get(inner, VERB, name) else {
            return lost(cause);
        };
        match (state::failure(&pod), state::of(&pod)) {
            (Some(failure), _) => Err(EngineError::cluster(failure)),
            (None, ContainerState::Exited { .. }) => Ok(KILLED),
            (None, _) => lost(cause),
        }
    }
}

/// Returns the exit code of a program that failed (`metav1.Status`, cause `ExitCode`).
fn exit_code(status: &Status) -> Option<i32> {
    let causes = status.details.as_ref()?.causes.as_ref()?;
    let mut codes = causes
        .iter()
        .filter(|cause| cause.reason.as_deref() == Some("ExitCode"));
    codes.next()?.message.as_deref()?.parse().ok()
}
