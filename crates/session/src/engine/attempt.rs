//! Runs a process inside to its end, within a limit.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use lazaret_protocol::exit;
use lazaret_runtime::{Process, ProcessControl};

use crate::cancel::Cancel;
use crate::engine::signal::SIGKILL;

/// How soon to look again whether the user wants an end.
const LOOK: Duration = Duration::from_millis(100);

/// How long output may take to be complete after its process has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Takes what a process prints, chunk by chunk.
pub(crate) type Take = Box<dyn FnMut(&[u8]) + Send>;

/// What a process prints.
pub(crate) struct Streams {
    pub(crate) stdout: Take,
    pub(crate) stderr: Take,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The process ended by itself, with this exit code.
    Exited(i32),
    /// It was killed: its time was up.
    TookTooLong,
    /// It was killed: the user wants an end.
    Cancelled,
}

impl Streams {
    /// Takes what is printed, and keeps nothing of it.
    pub(crate) fn discarded() -> Self {
        Self {
            stdout: Box::new(|_| {}),
            stderr: Box::new(|_| {}),
        }
    }
}

/// Runs a process without stdin to its end, for `limit` at most.
pub(crate) fn run_to_end(
    process: Process,
    streams: Streams,
    limit: Duration,
    cancel: &Cancel,
) -> Attempt {
    let Process {
        stdin,
        stdout,
        stderr,
        control,
    } = process;
    drop(stdin);
    let (open, closed) = mpsc::channel::<()>();
    for (stream, take) in [(stdout, streams.stdout), (stderr, streams.stderr)] {
        let open = open.clone();
        thread::spawn(move || {
            copy(stream, take);
            drop(open);
        });
    }
    drop(open);
    let control: Arc<dyn ProcessControl> = control.into();
    let (tell, ended) = mpsc::channel();
    let waiting = Arc::clone(&control);
    thread::spawn(move || drop(tell.send(waiting.wait())));
    let until = Instant::now() + limit;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let lost = i32::from(exit::FAILED);
        let code = match ended.recv_timeout(left.min(LOOK)) {
            // One that can't be followed any more is as good as dead.
            Ok(code) => code.unwrap_or(lost),
            Err(RecvTimeoutError::Disconnected) => lost,
            Err(RecvTimeoutError::Timeout) => {
                let attempt = match (cancel.check(), left.is_zero()) {
                    (Err(_), _) => Attempt::Cancelled,
                    (Ok(()), true) => Attempt::TookTooLong,
                    (Ok(()), false) => continue,
                };
                drop(control.signal(SIGKILL));
                return attempt;
            }
        };
        // What it left behind may still have its streams.
        let _closed = closed.recv_timeout(LAST_WORDS);
        return Attempt::Exited(code);
    }
}

/// Gives `take` what comes, to the end.
pub(crate) fn copy(mut from: Box<dyn Read + Send>, mut take: Take) {
    let mut buffer = [0; 16 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => take(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
