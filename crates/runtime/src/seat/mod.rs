//! The host's end of `porter seat`: one process, its streams and its terminal in frames
//! ([`seat`](lazaret_protocol::seat)), whichever way the seat itself was started.

mod input;
mod output;

use std::io::{self, Read, Write};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use lazaret_protocol::SeatCommand;
use lazaret_protocol::seat::{ToSeat, WINDOW};

use self::input::SeatInput;
use self::output::{Carrier, OutputReader, PIECES};
use crate::{EngineError, ExecSpec, Process, ProcessControl, Stdin, Terminal, TerminalSize};

/// Returns what starts `spec` in a seat.
///
/// # Errors
/// When it is no command of `porter run`: a seat starts nothing that was not checked.
pub(crate) fn around(spec: &ExecSpec) -> Result<ExecSpec, EngineError> {
    let terminal = match spec.terminal {
        Terminal::None => None,
        Terminal::Allocated(size) => Some(size),
    };
    let argv = SeatCommand::around(&spec.argv, terminal, spec.when_abandoned);
    Ok(ExecSpec {
        argv: argv.ok_or(EngineError::Unsupported {
            verb: "start process",
            reason: "a seat is for commands that the porter checks",
        })?,
        env: spec.env.clone(),
        workdir: spec.workdir.clone(),
        ..ExecSpec::new(Vec::new(), Stdin::Piped)
    })
}

/// Returns the process that a seat carries.
///
/// # Errors
/// When the seat has no stdin, or no thread can be started.
pub(crate) fn process(seat: Process, spec: &ExecSpec) -> Result<Process, EngineError> {
    let stream = |source| EngineError::Stream {
        verb: "start process",
        source,
    };
    let Process {
        stdin,
        stdout,
        stderr,
        control,
    } = seat;
    let stdin = stdin.ok_or_else(|| stream(io::ErrorKind::BrokenPipe.into()))?;
    let (to_stdout, from_stdout) = sync_channel(PIECES);
    let (to_stderr, from_stderr) = sync_channel(PIECES);
    let state = Arc::new(SeatState::default());
    let carrier = Carrier {
        state: Arc::clone(&state),
        to_stdout,
        to_stderr,
    };
    thread::Builder::new()
        .name("lazaret-seat".to_owned())
        .spawn(move || carrier.run(stdout, stderr, &*control))
        .map_err(stream)?;
    let line = Arc::new(SeatLine(Mutex::new(stdin)));
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

/// Where frames go: dropped with the last that could send one, it ends the seat's stdin.
struct SeatLine(Mutex<Box<dyn Write + Send>>);

impl SeatLine {
    fn send(&self, frame: ToSeat<'_>) -> io::Result<()> {
        let mut bytes = Vec::new();
        frame.write_to(&mut bytes);
        let mut stdin = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stdin.write_all(&bytes)?;
        stdin.flush()
    }
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
