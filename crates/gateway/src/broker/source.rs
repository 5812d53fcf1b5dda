//! `Source`: a buffered reader with limits of bytes and time.

use std::io::{self, Read};
use std::time::{Duration, Instant};

/// The most bytes of one read, and of one piece of a body.
const PIECE: usize = 16 * 1024;

/// Something whose reads can be given a time.
pub(super) trait Timed {
    /// Sets the time that the next reads may take.
    fn within(&mut self, time: Duration) -> io::Result<()>;
}

impl Timed for std::os::unix::net::UnixStream {
    fn within(&mut self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time.max(Duration::from_millis(1))))
    }
}

impl<C> Timed for rustls::StreamOwned<C, std::net::TcpStream> {
    fn within(&mut self, time: Duration) -> io::Result<()> {
        self.sock
            .set_read_timeout(Some(time.max(Duration::from_millis(1))))
    }
}

/// Bytes in memory need no time.
impl Timed for &[u8] {
    fn within(&mut self, _time: Duration) -> io::Result<()> {
        Ok(())
    }
}

/// Why nothing could be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum SourceError {
    /// The other side ended in the middle.
    #[error("the connection ended too early")]
    Cut,
    /// More came than may be in one head.
    #[error("the head is longer than {0} bytes")]
    Long(usize),
    /// It took too long.
    #[error("it took too long")]
    Slow,
    /// The connection broke.
    #[error("{0}")]
    Broken(io::Error),
}

/// A reader with what was read ahead.
#[derive(Debug)]
pub(super) struct Source<R> {
    pub(super) from: R,
    ahead: Vec<u8>,
    taken: usize,
}

impl<R: Read + Timed> Source<R> {
    pub(super) fn new(from: R) -> Self {
        Self {
            from,
            ahead: Vec::new(),
            taken: 0,
        }
    }

    fn there(&self) -> &[u8] {
        &self.ahead[self.taken..]
    }

    /// Reads once; false at the end.
    fn more(&mut self, time: Duration) -> Result<bool, SourceError> {
        self.from.within(time).map_err(SourceError::Broken)?;
        if self.taken > 0 {
            drop(self.ahead.drain(..self.taken));
            self.taken = 0;
        }
        let before = self.ahead.len();
        self.ahead.resize(before + PIECE, 0);
        let read = loop {
            match self.from.read(&mut self.ahead[before..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.ahead
            .truncate(before + read.as_ref().copied().unwrap_or(0));
        match read {
            Ok(count) => Ok(count > 0),
            Err(error) => Err(match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => SourceError::Slow,
                // TLS that ends without `close_notify` may have been truncated by an attacker.
                io::ErrorKind::UnexpectedEof => SourceError::Cut,
                _ => SourceError::Broken(error),
            }),
        }
    }

    /// Waits for a byte; false at the end of the connection.
    pub(super) fn wait(&mut self, idle: Duration) -> Result<bool, SourceError> {
        match self.there().is_empty() {
            true => self.more(idle),
            false => Ok(true),
        }
    }

    /// Takes a head, up to its empty line and with it.
    pub(super) fn head(&mut self, limit: usize, time: Duration) -> Result<Vec<u8>, SourceError> {
        const EMPTY_LINE: &[u8] = b"\r\n\r\n";
        let deadline = Instant::now() + time;
        let mut searched = 0;
        loop {
            let there = self.there();
            let found = there[searched..]
                .windows(EMPTY_LINE.len())
                .position(|window| window == EMPTY_LINE);
            match found.map(|at| searched + at + EMPTY_LINE.len()) {
                Some(end) if end <= limit => return Ok(self.take(end)),
                None if there.len() < limit => {}
                _ => return Err(SourceError::Long(limit)),
            }
            searched = there.len().saturating_sub(EMPTY_LINE.len() - 1);
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(SourceError::Slow);
            }
            if !self.more(left)? {
                return Err(SourceError::Cut);
            }
        }
    }

    /// Returns what has been read and not been taken, at most [`PIECE`] bytes.
    pub(super) fn buffered(&self) -> &[u8] {
        let there = self.there();
        there.get(..PIECE).unwrap_or(there)
    }

    /// Takes the first `count` bytes of what has been read.
    pub(super) fn take(&mut self, count: usize) -> Vec<u8> {
        let taken = self.there()[..count].to_vec();
        self.taken += count;
        taken
    }

    /// Drops the first `count` bytes of what has been read.
    pub(super) fn skip(&mut self, count: usize) {
        self.taken += count;
    }
}
