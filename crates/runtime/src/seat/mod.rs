//! The host's end of `porter seat`: one process, its streams and its terminal in frames
//! ([`seat`](lazaret_protocol::seat)), whichever way the seat itself was started.

mod connection_changes;
mod input;
mod line;
mod output;
mod reconnect;

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use lazaret_protocol::seat::{FrameReader, TICKET_BYTES, Ticket, ToSeat, WINDOW};
use lazaret_protocol::{SeatCommand, Verb};

pub use self::connection_changes::ConnectionChange;
pub(crate) use self::connection_changes::ConnectionChanges;
use self::input::SeatInput;
use self::line::SeatLine;
use self::output::{Carrier, OutputReader, PIECES, Resumption};
use self::reconnect::{FromSeatStream, Reconnect};
use crate::{
    ContainerName, Engine, EngineError, ExecSpec, Process, ProcessControl, Stdin, Terminal,
    TerminalSize,
};

const START: &str = "start process";

/// Returns what starts `spec` in a seat.
///
/// # Errors
/// When it is no command of `porter run`: a seat starts nothing that was not checked.
pub(crate) fn around(spec: &ExecSpec) -> Result<ExecSpec, EngineError> {
    around_with(spec, None)
}

fn around_with(spec: &ExecSpec, grace: Option<Duration>) -> Result<ExecSpec, EngineError> {
    let seat = SeatCommand::around(&spec.argv).ok_or(EngineError::Unsupported {
        verb: START,
        reason: "a seat is for commands that the porter checks",
    })?;
    let verb = Verb::Seat(SeatCommand {
        terminal: match spec.terminal {
            Terminal::None => None,
            Terminal::Allocated(size) => Some(size),
        },
        when_abandoned: spec.when_abandoned,
        grace,
        ..seat
    });
    let mut argv: Vec<String> = spec.argv.first().cloned().into_iter().collect();
    argv.extend(verb.to_argv());
    Ok(ExecSpec {
        env: spec.env.clone(),
        workdir: spec.workdir.clone(),
        ..ExecSpec::new(argv, Stdin::Piped)
    })
}

/// Starts `spec` in a seat that outlives its connection for as long as `grace`, in whole seconds.
///
/// # Errors
/// The engine's, or as [`around`] and [`process`].
pub(crate) fn start_resumable(
    engine: &Arc<dyn Engine>,
    container: &ContainerName,
    spec: &ExecSpec,
    grace: Duration,
    changes: &Arc<ConnectionChanges>,
) -> Result<Process, EngineError> {
    let stream = |source| EngineError::Stream {
        verb: START,
        source,
    };
    let mut random = [0; TICKET_BYTES];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut random));
    read.map_err(stream)?;
    let ticket = Ticket::from_bytes(&random);
    let ticket = ticket.ok_or_else(|| stream(io::ErrorKind::InvalidData.into()))?;
    let mut seat = engine.exec(container, &around_with(spec, Some(grace))?)?;
    let line = Arc::new(SeatLine::resumable(stdin_of(&mut seat)?));
    line.send(ToSeat::Keep(ticket)).map_err(stream)?;
    let reconnect = Reconnect {
        engine: Arc::clone(engine),
        container: container.clone(),
        ticket,
        grace,
        changes: Arc::clone(changes),
    };
    let resumption = Resumption {
        reconnect,
        line: Arc::clone(&line),
    };
    carried(seat, spec, line, Some(resumption))
}

/// Returns the process that a seat carries.
///
/// # Errors
/// When the seat has no stdin, or no thread can be started.
pub(crate) fn process(mut seat: Process, spec: &ExecSpec) -> Result<Process, EngineError> {
    let line = Arc::new(SeatLine::single(stdin_of(&mut seat)?));
    carried(seat, spec, line, None)
}

fn stdin_of(seat: &mut Process) -> Result<Box<dyn Write + Send>, EngineError> {
    let stdin = seat.stdin.take();
    stdin.ok_or_else(|| EngineError::Stream {
        verb: START,
        source: io::ErrorKind::BrokenPipe.into(),
    })
}

fn carried(
    seat: Process,
    spec: &ExecSpec,
    line: Arc<SeatLine>,
    resumption: Option<Resumption>,
) -> Result<Process, EngineError> {
    let (to_stdout, from_stdout) = sync_channel(PIECES);
    let (to_stderr, from_stderr) = sync_channel(PIECES);
    let state = Arc::new(SeatState::default());
    let carrier = Carrier {
        state: Arc::clone(&state),
        to_stdout,
        to_stderr,
        resumption,
    };
    let stream = FromSeatStream {
        stdout: seat.stdout,
        stderr: seat.stderr,
        control: seat.control,
        frames: FrameReader::default(),
    };
    thread::Builder::new()
        .name("lazaret-seat".to_owned())
        .spawn(move || carrier.run(stream))
        .map_err(|source| EngineError::Stream {
            verb: START,
            source,
        })?;
    let mut input = SeatInput {
        line: Arc::clone(&line),
        state: Arc::clone(&state),
    };
    let stdin: Option<Box<dyn Write + Send>> = match spec.stdin {
        Stdin::Piped => Some(Box::new(input)),
        Stdin::Closed => {
            // One that has ended says so itself.
            drop(input.flush());
            None
        }
    };
    let reader = |pieces| -> Box<dyn Read + Send> {
        Box::new(OutputReader::new(pieces, Arc::clone(&state)))
    };
    Ok(Process {
        stdin,
        stdout: reader(from_stdout),
        stderr: reader(from_stderr),
        control: Box::new(Control {
            line,
            state: Arc::clone(&state),
        }),
    })
}

/// How a process ended.
#[derive(Debug, Clone)]
enum End {
    /// With this code.
    Code(i32),
    /// The seat, or the way to it, was lost.
    Lost(String),
}

/// What is known of the process.
#[derive(Debug)]
struct SeatState {
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Debug)]
struct Progress {
    /// Bytes that the seat takes now.
    window: usize,
    end: Option<End>,
}

impl Default for SeatState {
    fn default() -> Self {
        let progress = Progress {
            window: WINDOW,
            end: None,
        };
        Self {
            progress: Mutex::new(progress),
            changed: Condvar::new(),
        }
    }
}

impl SeatState {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives back a part of the window.
    fn credit(&self, bytes: u32) {
        let mut progress = self.progress();
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        progress.window = progress.window.saturating_add(bytes).min(WINDOW);
        self.changed.notify_all();
    }

    /// Waits until the seat takes bytes, and returns how many of `wanted` that are; `None` once
    /// the process has ended.
    fn take(&self, wanted: usize) -> Option<usize> {
        let mut progress = self.progress();
        while progress.end.is_none() && progress.window == 0 {
            progress = (self.changed.wait(progress)).unwrap_or_else(PoisonError::into_inner);
        }
        if progress.end.is_some() {
            return None;
        }
        let taken = wanted.min(progress.window);
        progress.window -= taken;
        Some(taken)
    }

    /// The first end counts.
    fn end(&self, end: End) {
        self.progress().end.get_or_insert(end);
        self.changed.notify_all();
    }

    fn has_ended(&self) -> bool {
        self.progress().end.is_some()
    }

    fn await_end(&self) -> End {
        let mut progress = self.progress();
        loop {
            if let Some(end) = &progress.end {
                return end.clone();
            }
            progress = (self.changed.wait(progress)).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

struct Control {
    line: Arc<SeatLine>,
    state: Arc<SeatState>,
}

impl Control {
    /// Sends a frame. A process that has ended needs none.
    fn send(&self, verb: &'static str, frame: ToSeat<'_>) -> Result<(), EngineError> {
        match self.line.send(frame) {
            Err(error) if !self.state.has_ended() => Err(EngineError::Lost {
                verb,
                message: error.to_string(),
            }),
            _ => Ok(()),
        }
    }
}

impl ProcessControl for Control {
    fn wait(&self) -> Result<i32, EngineError> {
        match self.state.await_end() {
            End::Code(code) => Ok(code),
            End::Lost(message) => Err(EngineError::Lost {
                verb: "wait for process",
                message,
            }),
        }
    }

    fn resize(&self, size: TerminalSize) -> Result<(), EngineError> {
        self.send("resize terminal", ToSeat::Resize(size))
    }

    fn signal(&self, signal: i32) -> Result<(), EngineError> {
        const VERB: &str = "signal process";
        let progress = u8::try_from(signal)
            .ok()
            .filter(|signal| (1..=64).contains(signal));
        let signal = progress.ok_or(EngineError::Unsupported {
            verb: VERB,
            reason: "no signal has this number",
        })?;
        self.send(VERB, ToSeat::Signal(signal))
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if !self.state.has_ended() {
            // The seat may be gone.
            drop(self.line.send(ToSeat::Hangup));
        }
    }
}
