//! What a seat says, taken apart into the streams of its process.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};

use bytes::Bytes;
use lazaret_protocol::seat::{FrameReader, FromSeat};

use super::{End, SeatState};
use crate::ProcessControl;

/// Bytes read at once.
const CHUNK: usize = 64 << 10;

/// Frames that wait in the queue of a stream: 1 MiB at most.
pub(super) const PIECES: usize = 16;

/// The most bytes of a seat's own complaint that are kept.
const COMPLAINT: u64 = 64 << 10;

/// Takes frames apart into two bounded queues. If one is full the seat is read no further, so a
/// reader that is too slow stops the process inside, not this one's memory.
pub(super) struct Carrier {
    pub(super) state: Arc<SeatState>,
    pub(super) to_stdout: SyncSender<Bytes>,
    pub(super) to_stderr: SyncSender<Bytes>,
}

impl Carrier {
    /// Carries until the process, or the seat, has ended.
    pub(super) fn run(
        self,
        mut stdout: Box<dyn Read + Send>,
        stderr: Box<dyn Read + Send>,
        control: &dyn ProcessControl,
    ) {
        let end = match self.carry(&mut *stdout) {
            Ok(Some(code)) => End::Code(code),
            // The seat ended before its process had: it says why itself.
            Ok(None) => {
                let mut complaint = Vec::new();
                drop(stderr.take(COMPLAINT).read_to_end(&mut complaint));
                if !complaint.is_empty() {
                    drop(self.to_stderr.send(complaint.into()));
                }
                match control.wait() {
                    Ok(code) => End::Code(code),
                    Err(error) => End::Lost(error.to_string()),
                }
            }
            Err(error) => End::Lost(error.to_string()),
        };
        // Before the queues close: a reader at its end looks here.
        self.state.end(end);
    }

    /// Returns the exit code that the seat reports; `None` if it ends without.
    fn carry(&self, stdout: &mut dyn Read) -> io::Result<Option<i32>> {
        let nonsense = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        let mut frames = FrameReader::default();
        let mut chunk = vec![0; CHUNK];
        loop {
            while let Some(frame) = frames.next_frame().map_err(nonsense)? {
                match FromSeat::parse(frame).map_err(nonsense)? {
                    // A reader that went away needs nothing.
                    FromSeat::Stdout(bytes) => {
                        drop(self.to_stdout.send(Bytes::copy_from_slice(bytes)));
                    }
                    FromSeat::Stderr(bytes) => {
                        drop(self.to_stderr.send(Bytes::copy_from_slice(bytes)));
                    }
                    FromSeat::Credit(bytes) => self.state.credit(bytes),
                    FromSeat::Exit(code) => return Ok(Some(code.into())),
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
