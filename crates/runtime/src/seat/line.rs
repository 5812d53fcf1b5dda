//! `SeatLine`: where frames for a seat go.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lazaret_protocol::seat::{Arrived, CountError, ToSeat, Unacknowledged};

/// The most bytes that wait for a lost connection. DATA has a window, so these are signals and
/// sizes of a terminal.
const LIMIT: usize = 1 << 20;

/// Where frames go. Of a seat that is not resumable, the last one that could send one drops it,
/// and ends the seat's stdin.
pub(super) enum SeatLine {
    /// One connection, whose end is the seat's.
    Single(Mutex<Box<dyn Write + Send>>),
    /// One connection after another.
    Resumable(Mutex<ResumableLine>),
}

/// What was said and heard over all connections.
#[derive(Default)]
pub(super) struct ResumableLine {
    /// `None` while there is no connection.
    connection: Option<Box<dyn Write + Send>>,
    kept: Unacknowledged,
    arrived: Arrived,
}

impl SeatLine {
    pub(super) fn single(stdin: Box<dyn Write + Send>) -> Self {
        Self::Single(Mutex::new(stdin))
    }

    pub(super) fn resumable(stdin: Box<dyn Write + Send>) -> Self {
        Self::Resumable(Mutex::new(ResumableLine {
            connection: Some(stdin),
            ..ResumableLine::default()
        }))
    }

    /// Sends a frame, now or over the next connection.
    ///
    /// # Errors
    /// The connection's, if there is no other; or more waits than may.
    pub(super) fn send(&self, frame: ToSeat<'_>) -> io::Result<()> {
        let mut bytes = Vec::new();
        frame.write_to(&mut bytes);
        match self {
            Self::Single(stdin) => {
                let mut stdin = stdin.lock().unwrap_or_else(PoisonError::into_inner);
                stdin.write_all(&bytes)?;
                stdin.flush()
            }
            Self::Resumable(_) => self
                .with_resumable(|line| line.send(&bytes))
                .unwrap_or(Ok(())),
        }
    }

    /// Notes a whole frame of the seat's, and tells the seat when that is due.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub(super) fn note_arrived(&self, bytes: usize) -> io::Result<()> {
        let due = self.with_resumable(|line| {
            line.arrived.add(bytes);
            line.arrived.due()
        });
        match due.flatten() {
            Some(count) => self.send(ToSeat::Received(count)),
            None => Ok(()),
        }
    }

    /// Tells the seat that all of it has arrived.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub(super) fn tell_arrived(&self) -> io::Result<()> {
        match self.with_resumable(|line| line.arrived.tell()) {
            Some(count) => self.send(ToSeat::Received(count)),
            None => Ok(()),
        }
    }

    /// The seat has so many bytes.
    ///
    /// # Errors
    /// They were never sent.
    pub(super) fn acknowledge(&self, count: u64) -> Result<(), CountError> {
        let known = self.with_resumable(|line| line.kept.acknowledge(count));
        known.unwrap_or(Ok(()))
    }

    /// Lets go of a connection that is lost, and returns how many bytes have arrived by then.
    pub(super) fn disconnect(&self) -> u64 {
        let arrived = self.with_resumable(|line| {
            line.connection = None;
            line.arrived.tell()
        });
        arrived.unwrap_or(0)
    }

    /// Goes on with another connection, over which the seat says that it has `received` bytes.
    ///
    /// # Errors
    /// The seat can't have received that.
    pub(super) fn resume(
        &self,
        received: u64,
        connection: Box<dyn Write + Send>,
    ) -> Result<(), CountError> {
        let resumed = self.with_resumable(|line| {
            line.kept.resume(received)?;
            line.connection = Some(connection);
            line.flush();
            Ok(())
        });
        resumed.unwrap_or(Ok(()))
    }

    fn with_resumable<T>(&self, work: impl FnOnce(&mut ResumableLine) -> T) -> Option<T> {
        match self {
            Self::Single(_) => None,
            Self::Resumable(line) => {
                let mut line: MutexGuard<'_, _> =
                    line.lock().unwrap_or_else(PoisonError::into_inner);
                Some(work(&mut line))
            }
        }
    }
}

impl ResumableLine {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.connection.is_none() && self.kept.len() + bytes.len() > LIMIT {
            return Err(io::ErrorKind::NotConnected.into());
        }
        self.kept.push(bytes);
        self.flush();
        Ok(())
    }

    /// Writes what the connection has not been given. A lost one is replaced by the reader of the
    /// seat, which sees the same.
    fn flush(&mut self) {
        while let Some(connection) = &mut self.connection
            && !self.kept.unsent().is_empty()
        {
            let piece = self.kept.unsent();
            match connection
                .write_all(piece)
                .and_then(|()| connection.flush())
            {
                Ok(()) => {
                    let length = piece.len();
                    self.kept.mark_sent(length);
                }
                Err(_) => self.connection = None,
            }
        }
    }
}
