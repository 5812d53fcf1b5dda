//! A bounded pipe in memory whose end can be an error, which an operating system's can't.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes under way; a writer waits for the reader then.
const CAPACITY: usize = 64 << 10;

/// How a pipe ended.
#[derive(Debug, Clone)]
pub(super) enum End {
    /// Orderly.
    File,
    /// As a connection breaks.
    Broken(String),
}

#[derive(Debug, Default)]
struct State {
    bytes: VecDeque<u8>,
    end: Option<End>,
    unread: bool,
}

#[derive(Debug, Default)]
pub(super) struct Pipe {
    state: Mutex<State>,
    changed: Condvar,
}

impl Pipe {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends it, unless it has ended.
    pub(super) fn end(&self, end: End) {
        self.lock().end.get_or_insert(end);
        self.changed.notify_all();
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a dropped writer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnDrop {
    /// The end of the pipe.
    End,
    /// Nothing: it ends with its process.
    Nothing,
}

#[derive(Debug)]
pub(super) struct PipeWriter {
    pub(super) pipe: Arc<Pipe>,
    pub(super) on_drop: OnDrop,
}

#[derive(Debug)]
pub(super) struct PipeReader {
    pub(super) pipe: Arc<Pipe>,
}

impl Write for PipeWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.pipe.lock();
        while !bytes.is_empty() {
            if state.end.is_some() || state.unread {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let room = CAPACITY.saturating_sub(state.bytes.len());
            if room > 0 {
                let length = room.min(bytes.len());
                state.bytes.extend(bytes.iter().take(length));
                self.pipe.changed.notify_all();
                return Ok(length);
            }
            state = self.pipe.wait(state);
        }
        Ok(0)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for PipeWriter {
    fn drop(&mut self) {
        if self.on_drop == OnDrop::End {
            self.pipe.end(End::File);
        }
    }
}

impl Read for PipeReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.pipe.lock();
        loop {
            if !state.bytes.is_empty() {
                let length = state.bytes.read(buffer)?;
                self.pipe.changed.notify_all();
                return Ok(length);
            }
            match &state.end {
                Some(End::File) => return Ok(0),
                Some(End::Broken(cause)) => {
                    return Err(io::Error::new(
                        io::ErrorKind::ConnectionAborted,
                        cause.clone(),
                    ));
                }
                None => state = self.pipe.wait(state),
            }
        }
    }
}

impl Drop for PipeReader {
    fn drop(&mut self) {
        self.pipe.lock().unread = true;
        self.pipe.changed.notify_all();
    }
}
