//! Runs the command in its container, and ends it when its time is up or the user says so.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lazaret_runtime::{ContainerName, Engine, EngineError, Process};

use crate::cancel::{Cancel, CancelLevel, Event, EventQueue};
use crate::engine::signal::{SIGKILL, SIGTERM};
use crate::live::pause::Pauses;
use crate::output::command_input::{CommandInput, TerminalInput};
use crate::spec::CommandLimits;
use crate::store::record::CommandEnd;

/// After SIGKILL the streams end at once; an engine that is still silent is lost.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// A command that was started.
pub struct StartedCommand {
    /// Its process.
    pub process: Process,
    /// Where what it reads comes from; `None` if it reads nothing.
    pub input: Option<Box<dyn CommandInput>>,
}

impl fmt::Debug for StartedCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartedCommand")
            .field("process", &self.process)
            .finish_non_exhaustive()
    }
}

/// Takes what the command prints, as it comes.
pub trait Output: Send + Sync {
    /// A chunk of stdout.
    fn stdout(&self, chunk: &[u8]);
    /// A chunk of stderr.
    fn stderr(&self, chunk: &[u8]);
    /// Nothing came for a moment, and a user waits at a terminal.
    fn idle(&self);
}

/// Why the way a command ended is not known.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It could not be started, or the engine was lost.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Its output broke off: the engine or the connection to it is gone.
    #[error("the output of the command broke off: {0}")]
    Output(io::Error),
    /// It was killed, and the engine never said that it ended.
    #[error("the command was killed, but the engine does not report its end")]
    Undead,
}

/// Why the command is being ended before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EarlyEnd {
    TimedOut,
    Interrupted,
}

/// Follows a started command and waits for its end. PID 1 of the container passes SIGTERM on to
/// every process and leaves only when all are gone, so nothing that the command started survives.
///
/// # Errors
/// See [`CommandError`]. The container may still run then.
pub fn run(
    engine: &dyn Engine,
    container: &ContainerName,
    command: StartedCommand,
    limits: CommandLimits,
    output: Arc<dyn Output>,
    cancel: &Cancel,
    pauses: &Pauses,
) -> Result<CommandEnd, CommandError> {
    let started = Instant::now();
    let (done, event_queue) = cancel.event_queue();
    // Not joined: an engine that never ends the streams of a killed command must not hold
    // the launcher. A supervisor that gave up no longer listens.
    thread::spawn(move || {
        drop(done.send(Event::Value(follow(command, &*output))));
    });
    let (exit, ending) = Supervisor {
        engine,
        container,
        limits,
        started,
        pauses,
    }
    .watch(&event_queue)?;
    Ok(CommandEnd {
        exit_code: exit,
        timed_out: ending == Some(EarlyEnd::TimedOut),
        interrupted: ending == Some(EarlyEnd::Interrupted),
        oom_killed: false,
        log_truncated: false,
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}

/// Copies the streams until they end, then asks for the exit code.
fn follow(command: StartedCommand, output: &dyn Output) -> Result<i32, CommandError> {
    let Process {
        stdin,
        stdout,
        stderr,
        control,
    } = command.process;
    let over = AtomicBool::new(false);
    let beat = || output.idle();
    thread::scope(|scope| {
        let _over = EndedOnDrop(&over);
        if let (Some(from), Some(to)) = (command.input, stdin) {
            let input = TerminalInput {
                from,
                to,
                control: &*control,
                over: &over,
                beat: &beat,
            };
            scope.spawn(move || input.run());
        }
        let errors = scope.spawn(|| copy(stderr, |chunk| output.stderr(chunk)));
        let read = copy(stdout, |chunk| output.stdout(chunk));
        // A panic in the other copy is a bug of ours; the stream counts as broken.
        let read_errors = errors
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the copy of stderr panicked")));
        read.and(read_errors).map_err(CommandError::Output)
    })?;
    Ok(control.wait()?)
}

/// Says that a command has ended, however that is found out.
struct EndedOnDrop<'a>(&'a AtomicBool);

impl Drop for EndedOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn copy(mut from: Box<dyn Read + Send>, mut to: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; 32 * 1024];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => to(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

struct Supervisor<'a> {
    engine: &'a dyn Engine,
    container: &'a ContainerName,
    limits: CommandLimits,
    started: Instant,
    pauses: &'a Pauses,
}

impl Supervisor<'_> {
    /// Waits for the command, and ends it when its time is up or the user wants an end.
    fn watch(
        self,
        event_queue: &EventQueue<Result<i32, CommandError>>,
    ) -> Result<(i32, Option<EarlyEnd>), CommandError> {
        let timeout = self
            .limits
            .timeout
            .and_then(|timeout| self.started.checked_add(timeout));
        let ending = match event_queue.wait(timeout) {
            // A launcher that was stopped meanwhile: PID 1 has ended the command, and the
            // container with it (FLT-27).
            Event::Value(Err(_)) if timeout.is_some_and(|end| Instant::now() >= end) => {
                return Ok((128 + SIGTERM, Some(EarlyEnd::TimedOut)));
            }
            Event::Value(end) => return Ok((end?, None)),
            Event::Deadline => EarlyEnd::TimedOut,
            Event::Cancel(_) => EarlyEnd::Interrupted,
        };
        // A paused process hears nothing.
        self.pauses.end()?;
        self.signal(SIGTERM)?;
        let exit = self.wait_for_end(event_queue)?;
        Ok((exit, Some(ending)))
    }

    /// After SIGTERM: waits for the grace, or until the user insists, then kills.
    fn wait_for_end(
        &self,
        event_queue: &EventQueue<Result<i32, CommandError>>,
    ) -> Result<i32, CommandError> {
        let kill_at = Instant::now() + self.limits.grace;
        loop {
            match event_queue.wait(Some(kill_at)) {
                Event::Value(end) => return Ok(asked_for(end, SIGTERM)),
                Event::Cancel(CancelLevel::Asked) => {}
                Event::Cancel(CancelLevel::Insisted) | Event::Deadline => break,
            }
        }
        self.pauses.end()?;
        self.signal(SIGKILL)?;
        let give_up_at = Instant::now() + LAST_WORDS;
        loop {
            match event_queue.wait(Some(give_up_at)) {
                Event::Value(end) => return Ok(asked_for(end, SIGKILL)),
                Event::Cancel(_) => {}
                Event::Deadline => return Err(CommandError::Undead),
            }
        }
    }
}

impl Supervisor<'_> {
    /// Signals the container's first process.
    fn signal(&self, signal: i32) -> Result<(), EngineError> {
        match self.engine.signal_container(self.container, signal) {
            // It ended in this very moment: nothing is left to signal.
            Err(EngineError::NotFound { .. } | EngineError::Refused { .. }) => Ok(()),
            other => other,
        }
    }
}

/// Once we have ended the container, a stream that breaks off is what we asked for, and an
/// engine that can no longer name the exit code has lost nothing that matters.
fn asked_for(end: Result<i32, CommandError>, signal: i32) -> i32 {
    end.unwrap_or(128 + signal)
}
