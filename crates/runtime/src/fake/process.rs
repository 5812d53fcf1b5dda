//! A process of the in-memory engine: a closure on a thread between three pipes.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read, Write};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::Handler;
use super::pipe::{End, OnDrop, Pipe, PipeReader, PipeWriter};
use crate::{ContainerName, EngineError, EnvName, ExecSpec, Process, ProcessControl, Stdin};

/// What a scripted process is given.
pub struct ExecCall {
    /// The container it runs in.
    pub container: ContainerName,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Environment, in addition to the container's.
    pub env: BTreeMap<EnvName, String>,
    /// Its input.
    pub stdin: Box<dyn Read + Send>,
    /// Its output. Fails once the container is gone.
    pub stdout: Box<dyn Write + Send>,
    /// Its other output.
    pub stderr: Box<dyn Write + Send>,
    process: Arc<FakeProcess>,
}

/// How a scripted process ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecOutcome {
    /// With an exit code.
    Exit(i32),
    /// The connection to it breaks, for this reason.
    Lost(String),
}

impl From<i32> for ExecOutcome {
    fn from(code: i32) -> Self {
        Self::Exit(code)
    }
}

impl fmt::Debug for ExecCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecCall")
            .field("container", &self.container)
            .field("argv", &self.argv)
            .finish_non_exhaustive()
    }
}

impl ExecCall {
    /// Waits until the container is stopped, killed or removed, as a process that never
    /// ends by itself.
    pub fn sleep(&self) {
        self.process.wait();
    }
}

#[derive(Debug)]
pub(super) struct FakeProcess {
    stdin: Arc<Pipe>,
    stdout: Arc<Pipe>,
    stderr: Arc<Pipe>,
    outcome: Mutex<Option<ExecOutcome>>,
    changed: Condvar,
}

impl FakeProcess {
    /// Ends the process, unless it has ended.
    pub(super) fn finish(&self, outcome: ExecOutcome) {
        let mut held = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = held.get_or_insert(outcome).clone();
        drop(held);
        let end = match outcome {
            ExecOutcome::Exit(_) => End::File,
            ExecOutcome::Lost(cause) => End::Broken(cause),
        };
        for pipe in [&self.stdin, &self.stdout, &self.stderr] {
            pipe.end(end.clone());
        }
        self.changed.notify_all();
    }

    fn wait(&self) -> ExecOutcome {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(outcome) = &*outcome {
                return outcome.clone();
            }
            outcome = self
                .changed
                .wait(outcome)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

struct Control(Arc<FakeProcess>);

impl ProcessControl for Control {
    fn wait(&self) -> Result<i32, EngineError> {
        match self.0.wait() {
            ExecOutcome::Exit(code) => Ok(code),
            ExecOutcome::Lost(message) => Err(EngineError::Lost {
                verb: "wait for process",
                message,
            }),
        }
    }
}

/// Starts a closure, or a program that is not found.
pub(super) fn start(
    container: &ContainerName,
    spec: &ExecSpec,
    handler: Option<Handler>,
) -> Result<(Arc<FakeProcess>, Process), EngineError> {
    let process = Arc::new(FakeProcess {
        stdin: Arc::default(),
        stdout: Arc::default(),
        stderr: Arc::default(),
        outcome: Mutex::default(),
        changed: Condvar::default(),
    });
    let reader = |pipe: &Arc<Pipe>| {
        Box::new(PipeReader {
            pipe: Arc::clone(pipe),
        })
    };
    let writer = |pipe: &Arc<Pipe>, on_drop| {
        Box::new(PipeWriter {
            pipe: Arc::clone(pipe),
            on_drop,
        })
    };
    let call = ExecCall {
        container: container.clone(),
        argv: spec.argv.clone(),
        env: spec.env.clone(),
        stdin: reader(&process.stdin),
        stdout: writer(&process.stdout, OnDrop::Nothing),
        stderr: writer(&process.stderr, OnDrop::Nothing),
        process: Arc::clone(&process),
    };
    let stdin: Box<dyn Write + Send> = writer(&process.stdin, OnDrop::End);
    let handle = Process {
        stdin: match spec.stdin {
            Stdin::Piped => Some(stdin),
            Stdin::Closed => None,
        },
        stdout: reader(&process.stdout),
        stderr: reader(&process.stderr),
        control: Box::new(Control(Arc::clone(&process))),
    };
    let running = Arc::clone(&process);
    let run = move || {
        let outcome = match handler {
            // As a process that panics ends: one that never ended would be waited for in vain.
            Some(handler) => panic::catch_unwind(AssertUnwindSafe(|| handler(call)))
                .unwrap_or(ExecOutcome::Exit(101)),
            None => ExecOutcome::Exit(127),
        };
        running.finish(outcome);
    };
    std::thread::Builder::new()
        .name("fake-process".to_owned())
        .spawn(run)
        .map_err(|source: io::Error| EngineError::Stream {
            verb: "exec",
            source,
        })?;
    Ok((process, handle))
}
