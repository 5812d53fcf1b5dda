//! What a seat says, taken apart into the streams of its process.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};

use bytes::Bytes;
use lazaret_protocol::seat::FromSeat;

use super::line::SeatLine;
use super::reconnect::{FromSeatStream, Reconnect};
use super::{End, SeatState};

/// Bytes read at once.
const CHUNK: usize = 64 << 10;

/// Frames that wait in the queue of a stream: 1 MiB at most.
pub(super) const PIECES: usize = 16;

/// The most bytes of a seat's own complaint that are kept.
const COMPLAINT: u64 = 64 << 10;

/// Of a seat that ended, by whatever cause, after its connection was lost.
const GONE: &str = "the connection was lost, and the process is gone";

/// Takes frames apart into two bounded queues. If one is full the seat is read no further, so a
/// reader that is too slow stops the process inside, not this one's memory.
pub(super) struct Carrier {
    pub(super) state: Arc<SeatState>,
    pub(super) to_stdout: SyncSender<Bytes>,
    pub(super) to_stderr: SyncSender<Bytes>,
    /// How the seat is found when the connection is lost; `None` if it is not.
    pub(super) resumption: Option<Resumption>,
}

/// What goes on over more than one connection.
pub(super) struct Resumption {
    pub(super) reconnect: Reconnect,
    pub(super) line: Arc<SeatLine>,
}

impl Carrier {
    /// Carries until the process, or the seat, has ended.
    pub(super) fn run(self, mut stream: FromSeatStream) {
        let mut is_reconnected = false;
        let end = loop {
            let carried = self.carry(&mut stream);
            if let Ok(Some(code)) = carried {
                break End::Code(code);
            }
            // What is no frame will be none over another connection.
            let is_nonsense =
                (carried.as_ref()).is_err_and(|error| error.kind() == io::ErrorKind::InvalidData);
            let resumption = self.resumption.as_ref().filter(|_| !is_nonsense);
            match resumption.and_then(|it| it.reconnect.reconnect(&it.line)) {
                Some(other) => (stream, is_reconnected) = (other, true),
                // What carries this connection is not the seat.
                None if is_reconnected => break End::Lost(GONE.to_owned()),
                None => break self.end_of_seat(carried.map(drop), stream),
            }
        };
        // Before the queues close: a reader at its end looks here.
        self.state.end(end);
    }

    /// Returns how a process ended whose seat is gone.
    fn end_of_seat(&self, carried: io::Result<()>, stream: FromSeatStream) -> End {
        if let Err(error) = carried {
            return End::Lost(error.to_string());
        }
        // The seat ended before its process had: it says why itself.
        let mut complaint = Vec::new();
        drop(stream.stderr.take(COMPLAINT).read_to_end(&mut complaint));
        if !complaint.is_empty() {
            drop(self.to_stderr.send(complaint.into()));
        }
        match stream.control.wait() {
            Ok(code) => End::Code(code),
            Err(error) => End::Lost(error.to_string()),
        }
    }

    /// Returns the exit code that the seat reports; `None` if it ends without.
    fn carry(&self, stream: &mut FromSeatStream) -> io::Result<Option<i32>> {
        let nonsense = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        let FromSeatStream { stdout, frames, .. } = stream;
        let line = self.resumption.as_ref().map(|resumption| &*resumption.line);
        let mut chunk = vec![0; CHUNK];
        loop {
            while let Some(frame) = frames.next_frame().map_err(nonsense)? {
                let length = frame.length();
                let mut exit = None;
                match FromSeat::parse(frame).map_err(nonsense)? {
                    // A reader that went away needs nothing.
                    FromSeat::Stdout(bytes) => {
                        drop(self.to_stdout.send(Bytes::copy_from_slice(bytes)));
                    }
                    FromSeat::Stderr(bytes) => {
                        drop(self.to_stderr.send(Bytes::copy_from_slice(bytes)));
                    }
                    FromSeat::Credit(bytes) => self.state.credit(bytes),
                    FromSeat::Received(count) => {
                        let known = line.map_or(Ok(()), |line| line.acknowledge(count));
                        known.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                    }
                    FromSeat::Exit(code) => exit = Some(i32::from(code)),
                }
                if let Some(line) = line {
                    // A connection that is lost is noticed below.
                    drop(line.note_arrived(length));
                    if exit.is_some() {
                        drop(line.tell_arrived());
                    }
                }
                if exit.is_some() {
                    return Ok(exit);
                }
            }
            match stdout.read(&mut chunk) {
                Ok(0) if frames.is_empty() => return Ok(None),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => frames.push(chunk.get(..length).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Reads one stream of the process.
pub(super) struct OutputReader {
    pieces: Receiver<Bytes>,
    piece: Bytes,
    state: Arc<SeatState>,
}

impl OutputReader {
    pub(super) fn new(pieces: Receiver<Bytes>, state: Arc<SeatState>) -> Self {
        let piece = Bytes::new();
        Self {
            pieces,
            piece,
            state,
        }
    }
}

impl Read for OutputReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.pieces.recv() {
                Ok(piece) => self.piece = piece,
                Err(_) => {
                    return match self.state.await_end() {
                        End::Code(_) => Ok(0),
                        End::Lost(message) => {
                            Err(io::Error::new(io::ErrorKind::ConnectionAborted, message))
                        }
                    };
                }
            }
        }
        let length = self.piece.len().min(buffer.len());
        let now = self.piece.split_to(length);
        if let Some(buffer) = buffer.get_mut(..length) {
            buffer.copy_from_slice(&now);
        }
        Ok(length)
    }
}
