//! Starts a process in a running container and finds out how it ended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::attach::{Connection, attach};
use super::client::{CallContext, Inner};
use super::transport::WireError;
use super::{CALL_LIMIT, objects};
use crate::{ContainerName, EngineError, ExecSpec, Process, ProcessControl, Stdin};

/// How long a process may go on after its streams have ended, before that counts as a
/// lost connection. A shell that closes its own output is rare; a hang would be worse.
const EXIT_GRACE: Duration = Duration::from_secs(10);

pub(super) fn start(
    inner: &Arc<Inner>,
    name: &ContainerName,
    spec: &ExecSpec,
) -> Result<Process, EngineError> {
    let call = CallContext {
        verb: "exec",
        what: "container",
        name: name.as_str(),
    };
    let env: Vec<String> = spec
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let create = serde_json::json!({
        "AttachStdin": spec.stdin == Stdin::Piped,
        "AttachStdout": true,
        "AttachStderr": true,
        "Tty": false,
        "Env": env,
        "Cmd": spec.argv,
        "WorkingDir": spec.workdir.as_deref().unwrap_or_default(),
        "Privileged": false,
    });
    let (id, socket, first) = inner.call(CALL_LIMIT, async {
        let about =
            |error: WireError| error.about("exec", "container", name.as_str(), inner.endpoint());
        let path = format!("/containers/{name}/exec");
        let created: objects::Created = inner.wire.post(&path, &create).await.map_err(about)?;
        let path = format!("/exec/{}/start", created.id);
        let start = serde_json::json!({ "Detach": false, "Tty": false });
        let (socket, first) = inner.wire.upgrade(&path, &start).await.map_err(about)?;
        Ok((created.id, socket, first))
    })?;

    let ask = {
        let inner = Arc::clone(inner);
        Box::new(move || exit_code(&inner, &id))
    };
    let streams = attach(socket, first, ask).map_err(|source| EngineError::Stream {
        verb: call.verb,
        source,
    })?;
    let control = Control(streams.connection);
    Ok(Process {
        stdin: match spec.stdin {
            Stdin::Piped => Some(Box::new(streams.stdin)),
            Stdin::Closed => None,
        },
        stdout: Box::new(streams.stdout),
        stderr: Box::new(streams.stderr),
        control: Box::new(control),
    })
}

/// Waits until the engine records the end of a process whose streams have ended.
fn exit_code(inner: &Inner, id: &str) -> Result<i32, EngineError> {
    let call = CallContext {
        verb: "inspect exec",
        what: "exec",
        name: id,
    };
    let deadline = Instant::now() + EXIT_GRACE;
    let mut pause = Duration::from_millis(1);
    loop {
        let path = format!("/exec/{id}/json");
        let exec: objects::Exec = inner.call(CALL_LIMIT, inner.get(call, &path))?;
        match exec.exit_code {
            Some(code) if !exec.running => {
                return i32::try_from(code).map_err(|_| EngineError::Lost {
                    verb: call.verb,
                    message: format!("{code} is no exit code"),
                });
            }
            _ if Instant::now() > deadline => {
                return Err(EngineError::Lost {
                    verb: call.verb,
                    message: "the streams ended, but the process goes on".to_owned(),
                });
            }
            _ => std::thread::sleep(pause),
        }
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}

struct Control(Arc<Connection>);

impl ProcessControl for Control {
    fn wait(&self) -> Result<i32, EngineError> {
        self.0.wait("wait for process")
    }
}
