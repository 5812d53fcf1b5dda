//! `SeatInput`: what a seated process reads.

use std::io::{self, Write};
use std::sync::Arc;

use lazaret_protocol::seat::ToSeat;

use super::SeatState;
use super::line::SeatLine;

/// Writes to the process, as fast as it reads; dropped, it ends the process's input.
pub(super) struct SeatInput {
    pub(super) line: Arc<SeatLine>,
    pub(super) state: Arc<SeatState>,
}

impl Write for SeatInput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let taken = self.state.take(bytes.len());
        let taken = taken.ok_or(io::ErrorKind::BrokenPipe)?;
        let bytes = bytes.get(..taken).unwrap_or_default();
        self.line.send(ToSeat::Data(bytes))?;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for SeatInput {
    fn drop(&mut self) {
        if !self.state.has_ended() {
            // The seat may be gone.
            drop(self.line.send(ToSeat::Eof));
        }
    }
}
