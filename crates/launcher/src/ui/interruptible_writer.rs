//! Output streams whose reader may have stopped reading.
//!
//! A write to a full pipe, or to a terminal held by Ctrl-S, blocks until the reader goes on.
//! While the command runs that is right: the command waits too. After an interrupt, no write
//! may wait for such a reader any more (FLT-18).

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use lazaret_session::cancel::Cancel;

/// A write of at most this many bytes does not block on a pipe that is ready: POSIX's
/// `_POSIX_PIPE_BUF` is 512, Linux and macOS give at least 4096 and 512 (pipe(7), write(2)).
const PIECE: usize = 512;
/// A pipe on Linux takes that much when it is ready (PIPE_BUF in pipe(7)).
const LINUX_PIECE: usize = 4096;
/// How often a reader that is not reading is looked at.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// How long a reader may still make up its mind after the user wanted an end.
const LAST_CHANCE: Duration = Duration::from_secs(1);

/// Writes to a descriptor, unbuffered, for as long as the user is content to wait.
#[derive(Debug)]
pub(super) struct InterruptibleWriter<F> {
    to: F,
    cancel: Cancel,
}

impl<F: AsFd> InterruptibleWriter<F> {
    pub(super) fn new(to: F, cancel: &Cancel) -> Self {
        Self {
            to,
            cancel: cancel.clone(),
        }
    }

    /// Waits until a piece can be written.
    fn wait(&self) -> io::Result<()> {
        let mut asked = None;
        loop {
            let mut fds = [PollFd::new(&self.to, PollFlags::OUT)];
            match poll(&mut fds, Some(&TICK)) {
                // Ready, or broken, which the write will tell.
                Ok(1..) => return Ok(()),
                Ok(0) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if self.cancel.level().is_some() {
                let asked = *asked.get_or_insert_with(Instant::now);
                if asked.elapsed() >= LAST_CHANCE {
                    let text = "its reader has stopped reading";
                    return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                }
            }
        }
    }
}

impl<F: AsFd> Write for InterruptibleWriter<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wait()?;
        let most = if cfg!(target_os = "linux") {
            LINUX_PIECE
        } else {
            PIECE
        };
        let piece = bytes.get(..bytes.len().min(most)).unwrap_or(bytes);
        Ok(rustix::io::write(&self.to, piece)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read as _, Write as _};
    use std::thread;

    use super::InterruptibleWriter;
    use lazaret_session::cancel::Cancel;

    #[test]
    fn flt_18_a_reader_that_reads_gets_every_byte() {
        let (mut reader, writer) = io::pipe().unwrap();
        let cancel = Cancel::new();
        let bytes: Vec<u8> = (0..300_000_u32).map(|n| n as u8).collect();
        let expected = bytes.clone();
        let writing =
            thread::spawn(move || InterruptibleWriter::new(writer, &cancel).write_all(&bytes));
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        writing.join().unwrap().unwrap();
        assert!(read == expected);
    }

    #[test]
    fn flt_18_no_write_waits_for_a_full_pipe_after_an_interrupt() {
        let (reader, writer) = io::pipe().unwrap();
        let cancel = Cancel::new();
        let raiser = cancel.clone();
        let writing = thread::spawn(move || {
            InterruptibleWriter::new(writer, &cancel).write_all(&vec![0; 1 << 20])
        });
        raiser.raise();
        let error = writing.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(reader);
    }

    #[test]
    fn flt_18_a_reader_that_went_away_is_a_broken_pipe() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let error = InterruptibleWriter::new(writer, &Cancel::new()).write(b"x");
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
