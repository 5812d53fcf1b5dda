//! Runs a request and its answers with a process of the porter, and reports the most specific
//! cause if that fails.

use std::io::{self, Read, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use lazaret_protocol::bootstrap;
use lazaret_runtime::{ContainerName, EngineError, Process, ProcessControl};
use lazaret_tree::escape;

use crate::cancel::{Cancel, Interrupted};
use crate::context::SessionContext;
use crate::engine::signal::SIGKILL;

/// Why an exchange with a porter failed.
#[derive(Debug, thiserror::Error)]
pub enum PorterError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The user wants an end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The connection to it broke.
    #[error("the stream to the container broke")]
    Stream(#[source] io::Error),
    /// It ended without having done what it was asked for.
    #[error("porter {verb} ended with {code}: {words}")]
    Failed {
        /// What it was asked for.
        verb: String,
        /// Its exit code.
        code: i32,
        /// The last that it said, escaped.
        words: String,
    },
    /// The engine gave it no input.
    #[error("porter {verb} has no stdin")]
    NoStdin {
        /// What it was asked for.
        verb: String,
    },
}

/// An error that an exchange with a porter may end with.
pub(crate) trait ExchangeError: From<PorterError> {
    /// Returns true if what arrived was wrong or broke off: then the porter may know better why.
    fn is_of_stream(&self) -> bool;
}

impl ExchangeError for PorterError {
    fn is_of_stream(&self) -> bool {
        matches!(self, Self::Stream(_) | Self::Failed { .. })
    }
}

/// The most bytes of a porter's stderr that are kept; the rest is read and dropped.
const STDERR_CAP: u64 = 64 * 1024;

/// The most bytes of an answer: a receipt for 200,000 entries with the longest paths fits.
pub(crate) const ANSWER_CAP: u64 = 512 * 1024 * 1024;

/// How long a porter may take to end once there is nothing more to say.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What is said to a porter.
pub(crate) type ToPorter<'a> = &'a mut (dyn Write + Send);

/// What it answers.
pub(crate) type FromPorter<'a> = &'a mut (dyn Read + Send);

/// A verb of the porter's, and the container that it works in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PorterCall<'a> {
    pub(crate) name: &'a str,
    pub(crate) container: &'a ContainerName,
}

/// Talks with a porter that ends when everything was said.
///
/// # Errors
/// The most specific cause: the porter's own if the stream broke.
pub(crate) fn until_exit<T, E: ExchangeError>(
    cx: &SessionContext<'_>,
    call: PorterCall<'_>,
    process: Process,
    talk: impl FnOnce(ToPorter<'_>, FromPorter<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let mut lines = Lines::of(process, cx, call.name)?;
    let stderr_tail = StderrTail::of(lines.stderr);
    let talked = talk(&mut lines.said, &mut *lines.stdout);
    drop((lines.said, lines.stdout));
    let ended = call.await_exit(cx, &stderr_tail);
    // After a signal, the interrupt is the cause to report.
    cx.cancel.check().map_err(PorterError::from)?;
    match talked {
        Ok(talked) => match lines.control.wait().map_err(PorterError::from)? {
            0 => Ok(talked),
            code => Err(porter_error(call.name, code, ended.words()).into()),
        },
        Err(error) => Err(call.cause(error, &ended, &*lines.control)),
    }
}

/// Talks with a porter that has more to do afterwards, and returns it.
///
/// # Errors
/// As [`until_exit`]; the process has ended then, or ends with its container.
pub(crate) fn until_answered<T, E: ExchangeError>(
    cx: &SessionContext<'_>,
    call: PorterCall<'_>,
    process: Process,
    talk: impl FnOnce(ToPorter<'_>, FromPorter<'_>) -> Result<T, E>,
) -> Result<(T, Process), E> {
    let mut lines = Lines::of(process, cx, call.name)?;
    let talked = talk(&mut lines.said, &mut *lines.stdout);
    cx.cancel.check().map_err(PorterError::from)?;
    match talked {
        Ok(talked) => Ok((talked, lines.into_process())),
        Err(error) if !error.is_of_stream() => Err(error),
        Err(error) => {
            let stderr_tail = StderrTail::of(lines.stderr);
            // One that still hears it ends well: then we know better what went wrong.
            drop(
                lines
                    .said
                    .write_all(bootstrap::CANCEL)
                    .and_then(|()| lines.said.flush()),
            );
            drop((lines.said, lines.stdout));
            let ended = call.await_exit(cx, &stderr_tail);
            cx.cancel.check().map_err(PorterError::from)?;
            Err(call.cause(error, &ended, &*lines.control))
        }
    }
}

/// What a talk goes over: a signal ends it where something is said.
struct Lines<'a> {
    said: Interruptible<'a, Box<dyn Write + Send>>,
    stdout: Box<dyn Read + Send>,
    stderr: Box<dyn Read + Send>,
    control: Box<dyn ProcessControl>,
}

impl<'a> Lines<'a> {
    fn of(process: Process, cx: &SessionContext<'a>, verb: &str) -> Result<Self, PorterError> {
        let stdin = process.stdin;
        let inner = stdin.ok_or_else(|| PorterError::NoStdin {
            verb: verb.to_owned(),
        })?;
        let cancel = cx.cancel;
        Ok(Self {
            said: Interruptible { inner, cancel },
            stdout: process.stdout,
            stderr: process.stderr,
            control: process.control,
        })
    }

    fn into_process(self) -> Process {
        Process {
            stdin: Some(self.said.inner),
            stdout: self.stdout,
            stderr: self.stderr,
            control: self.control,
        }
    }
}

/// How a porter ended, and what it complained of.
enum Ended {
    ByItself(Vec<u8>),
    /// It did not, and its container was killed.
    Killed(Vec<u8>),
}

impl Ended {
    fn words(&self) -> &[u8] {
        match self {
            Self::ByItself(words) | Self::Killed(words) => words,
        }
    }
}

impl PorterCall<'_> {
    /// Waits until a porter has ended. One that waits for more ends when it hears that there
    /// is none, or is ended: closing one direction of a connection does not arrive reliably.
    fn await_exit(&self, cx: &SessionContext<'_>, stderr_tail: &StderrTail) -> Ended {
        match stderr_tail.within(LAST_WORDS) {
            Ok(words) => Ended::ByItself(words),
            Err(_) => {
                drop(cx.engine.signal_container(self.container, SIGKILL));
                Ended::Killed(stderr_tail.within(LAST_WORDS).unwrap_or_default())
            }
        }
    }

    /// Says why a talk broke off. When both ends failed, we know why, unless we only met a
    /// closed pipe: then the porter does, or an engine that can't say how it ended.
    fn cause<E: ExchangeError>(&self, error: E, ended: &Ended, control: &dyn ProcessControl) -> E {
        let Ended::ByItself(words) = ended else {
            return error;
        };
        if !error.is_of_stream() {
            return error;
        }
        match control.wait() {
            Ok(0) => error,
            Ok(code) => porter_error(self.name, code, words).into(),
            Err(lost) => PorterError::from(lost).into(),
        }
    }
}

/// Fails as soon as the user wants an end, so that a long copy needs no other check.
struct Interruptible<'a, W> {
    inner: W,
    cancel: &'a Cancel,
}

impl<W: Write> Write for Interruptible<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.cancel.check().map_err(io::Error::other)?;
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// What a porter says on stderr, read beside its streams until the process ends.
#[derive(Debug)]
pub(crate) struct StderrTail(Receiver<Vec<u8>>);

impl StderrTail {
    /// Begins to read.
    pub(crate) fn of(stderr: impl Read + Send + 'static) -> Self {
        let (complain, stderr_tail) = mpsc::channel();
        // Not joined: it ends with the process.
        thread::spawn(move || {
            let said = read_capped(stderr, STDERR_CAP).unwrap_or_default();
            let _unheard = complain.send(said);
        });
        Self(stderr_tail)
    }

    /// Waits until all was said, for that long at most; as much of it as is kept.
    ///
    /// # Errors
    /// When the process has not ended by then.
    pub(crate) fn within(&self, limit: Duration) -> Result<Vec<u8>, RecvTimeoutError> {
        self.0.recv_timeout(limit)
    }
}

/// Reads a short-lived verb of the porter to its end.
pub(crate) fn finish(process: Process) -> Result<(i32, Vec<u8>, Vec<u8>), EngineError> {
    let Process {
        stdin,
        stdout,
        stderr,
        control,
    } = process;
    drop(stdin);
    let lost = |source| EngineError::Stream {
        verb: "exec",
        source,
    };
    thread::scope(|scope| {
        let stderr_tail = scope.spawn(move || read_capped(stderr, STDERR_CAP));
        let output = read_capped(stdout, ANSWER_CAP).map_err(lost)?;
        let stderr_tail = stderr_tail
            .join()
            .unwrap_or_else(|_| Ok(Vec::new()))
            .map_err(lost)?;
        Ok((control.wait()?, output, stderr_tail))
    })
}

/// Reads what a porter that ends said on stderr.
pub(crate) fn stderr_of(stderr: impl Read) -> Vec<u8> {
    read_capped(stderr, STDERR_CAP).unwrap_or_default()
}

/// Reads to the end, keeping at most `cap` bytes.
fn read_capped(mut from: impl Read, cap: u64) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    (&mut from).take(cap).read_to_end(&mut kept)?;
    io::copy(&mut from, &mut io::sink())?;
    Ok(kept)
}

/// Says that the porter failed, in its own words.
pub(crate) fn porter_error(verb: &str, code: i32, stderr_tail: &[u8]) -> PorterError {
    let words = String::from_utf8_lossy(stderr_tail);
    // An engine may add words of its own, about streams that broke because the porter ended.
    let mut lines = words.trim().lines().rev();
    let last = lines.clone().next().unwrap_or_default();
    let words = lines
        .find(|line| line.starts_with("porter: "))
        .unwrap_or(last);
    let words = if words.is_empty() {
        "it said nothing"
    } else {
        words
    };
    PorterError::Failed {
        verb: verb.to_owned(),
        code,
        words: escape(words.as_bytes()),
    }
}
