//! The streams of a process beside the command: what it reads, what it prints, and its end.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};
use std::thread;
use std::time::{Duration, Instant};

use lazaret_egress::{Patterns, Scrubber};
use lazaret_runtime::ProcessControl;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::engine::signal::{SIGHUP, SIGKILL, SIGTERM};

/// The code of a process that was lost.
pub(super) const LOST: u8 = 125;

/// What may not be printed, and how long it is waited whether a piece becomes that.
#[derive(Debug, Clone)]
pub(super) struct Scrubbing {
    pub(super) release: Release,
    pub(super) patterns: Option<Patterns>,
}

/// When what may still become a secret is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Release {
    /// Once it can't become one.
    WhenSure,
    /// With the end of a line, on which a reader acts: a secret over two lines that come apart is
    /// not found.
    AfterEachLine,
    /// At once, as on a terminal, where each key is seen: a secret that comes in pieces is not
    /// found.
    AfterEachChunk,
}

/// Chunks that wait for a process to read its stdin.
pub(super) const CHUNKS: usize = 16;

/// Between two looks at a process that does not read, or does not end.
const TICK: Duration = Duration::from_millis(50);

/// Writes what comes to the process, and then the end of its stdin.
pub(super) fn write_stdin(mut stdin: Option<Box<dyn Write + Send>>, chunks: &Receiver<Vec<u8>>) {
    for chunk in chunks {
        let written =
            (stdin.as_mut()).map(|stdin| stdin.write_all(&chunk).and_then(|()| stdin.flush()));
        if matches!(written, Some(Err(_))) {
            stdin = None;
        }
    }
}

/// Waits until a chunk can be passed on. Returns false if the client is gone meanwhile.
pub(super) fn send(feed: &SyncSender<Vec<u8>>, mut chunk: Vec<u8>, stream: &UnixStream) -> bool {
    loop {
        match feed.try_send(chunk) {
            Ok(()) | Err(TrySendError::Disconnected(_)) => return true,
            Err(TrySendError::Full(back)) => chunk = back,
        }
        let mut hang_up = [PollFd::new(stream, PollFlags::empty())];
        let limit = Timespec::try_from(TICK).ok();
        if matches!(poll(&mut hang_up, limit.as_ref()), Ok(1..)) {
            return false;
        }
    }
}

/// Ends a process that was not let go of, as its stdin is still being written or its end is waited
/// for.
pub(super) fn end(control: &dyn ProcessControl, has_ended: impl Fn() -> bool) {
    /// How long it has for each signal.
    const PATIENCE: Duration = Duration::from_secs(5);
    for signal in [SIGHUP, SIGTERM, SIGKILL] {
        if has_ended() {
            return;
        }
        let _ended = control.signal(signal);
        let until = Instant::now() + PATIENCE;
        while !has_ended() && Instant::now() < until {
            thread::sleep(TICK);
        }
    }
}

/// Passes on what a process prints, without secrets, to its end.
pub(super) fn copy(
    mut from: Box<dyn Read + Send>,
    scrubbing: Scrubbing,
    mut pass: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut scrubber = scrubbing.patterns.map(Scrubber::new);
    let mut buffer = vec![0; 32 << 10];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let chunk = buffer.get(..count).unwrap_or_default();
        let mut clean = Vec::new();
        match (&mut scrubber, count) {
            (None, _) => clean.extend(chunk),
            (Some(scrubber), 0) => scrubber.finish(&mut clean),
            (Some(scrubber), _) => {
                scrubber.push(chunk, &mut clean);
                let is_released = match scrubbing.release {
                    Release::WhenSure => false,
                    Release::AfterEachLine => chunk.ends_with(b"\n"),
                    Release::AfterEachChunk => true,
                };
                if is_released {
                    scrubber.finish(&mut clean);
                }
            }
        }
        pass(&clean)?;
        if count == 0 {
            return Ok(());
        }
    }
}
