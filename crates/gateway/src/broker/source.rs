//! `Source`: reads heads and pieces of bodies, within limits of bytes and time.

use std::io::{self, Read};
use std::time::{Duration, Instant};

/// How much is read at once.
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

/// Bytes that are there have no need of time.
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
                // TLS that ends without saying so may have been cut by anybody.
                io::ErrorKind::UnexpectedEof => SourceError::Cut,
                _ => SourceError::Broken(error),
            }),
        }
    }

    /// Waits for the first byte of what comes next; false when nothing comes any more.
    pub(super) fn wait(&mut self, idle: Duration) -> Result<bool, SourceError> {
        match self.there().is_empty() {
            true => self.more(idle),
            false => Ok(true),
        }
    }

    /// Takes a head, up to the empty line and with it.
    pub(super) fn head(&mut self, limit: usize, time: Duration) -> Result<Vec<u8>, SourceError> {
        let end = self.find(b"\r\n\r\n", limit, time)?;
        Ok(self.take(end))
    }

    /// Takes a line, up to CR LF and without it.
    pub(super) fn line(&mut self, limit: usize, time: Duration) -> Result<Vec<u8>, SourceError> {
        let end = self.find(b"\r\n", limit, time)?;
        let mut line = self.take(end);
        line.truncate(end - 2);
        Ok(line)
    }

    /// Returns where `mark` ends.
    fn find(&mut self, mark: &[u8], limit: usize, time: Duration) -> Result<usize, SourceError> {
        let deadline = Instant::now() + time;
        let mut looked = 0;
        loop {
            let there = self.there();
            let found = there[looked..]
                .windows(mark.len())
                .position(|window| window == mark);
            match found.map(|at| looked + at + mark.len()) {
                Some(end) if end <= limit => return Ok(end),
                None if there.len() < limit => {}
                _ => return Err(SourceError::Long(limit)),
            }
            looked = there.len().saturating_sub(mark.len() - 1);
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(SourceError::Slow);
            }
            if !self.more(left)? {
                return Err(SourceError::Cut);
            }
        }
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        let taken = self.there()[..count].to_vec();
        self.taken += count;
        taken
    }

    /// Takes what is there, no more than `most`, and waits only when nothing is. Empty at
    /// the end.
    pub(super) fn piece(&mut self, most: u64, idle: Duration) -> Result<Vec<u8>, SourceError> {
        if !self.wait(idle)? {
            return Ok(Vec::new());
        }
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let count = self.there().len().min(most).min(PIECE);
        Ok(self.take(count))
    }
}
