//! `Reconnect`: has a resumable seat go on over another connection.
//!
//! The first attempt follows the loss at once, later ones after a pause that doubles. They end
//! with the seat's grace, or when the seat is known to be gone: then its container does not run,
//! or `porter rejoin` does not find it.

use std::io::{self, Read};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use lazaret_protocol::seat::{FrameReader, FromSeat, RejoinRequest, Ticket};
use lazaret_protocol::{PORTER_PATH, Verb, exit};

use super::connection_changes::ConnectionChanges;
use super::line::SeatLine;
use crate::{ContainerName, ContainerState, Engine, ExecSpec, Process, ProcessControl, Stdin};

/// Before the second attempt.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Between two attempts, at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// The seat ends by then, whenever it noticed the loss.
const SLACK: Duration = Duration::from_secs(60);

/// How a seat is found again.
pub(super) struct Reconnect {
    pub(super) engine: Arc<dyn Engine>,
    pub(super) container: ContainerName,
    pub(super) ticket: Ticket,
    /// How long the seat waits.
    pub(super) grace: Duration,
    /// Told of it.
    pub(super) changes: Arc<ConnectionChanges>,
}

/// What a seat says over one connection.
pub(super) struct FromSeatStream {
    pub(super) stdout: Box<dyn Read + Send>,
    pub(super) stderr: Box<dyn Read + Send>,
    pub(super) control: Box<dyn ProcessControl>,
    /// What was read, but not taken yet.
    pub(super) frames: FrameReader,
}

/// Why a seat can't be had.
enum Failed {
    /// It may be another time.
    ForNow,
    /// It is gone.
    ForGood,
}

impl Reconnect {
    /// Tries until the seat goes on over another connection. `None` once it is gone.
    pub(super) fn reconnect(&self, line: &SeatLine) -> Option<FromSeatStream> {
        let received = line.disconnect();
        let lost = self.changes.lose();
        let since = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            match self.attempt(line, received) {
                Ok(stream) => {
                    lost.resume();
                    return Some(stream);
                }
                Err(Failed::ForGood) => return None,
                Err(Failed::ForNow) if since.elapsed() > self.grace + SLACK => return None,
                Err(Failed::ForNow) => thread::sleep(pause),
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn attempt(&self, line: &SeatLine, received: u64) -> Result<FromSeatStream, Failed> {
        let mut argv = vec![PORTER_PATH.to_owned()];
        argv.extend(Verb::Rejoin.to_argv());
        let spec = ExecSpec::new(argv, Stdin::Piped);
        let process = self.engine.exec(&self.container, &spec);
        let process = process.map_err(|_| self.failure())?;
        let Process {
            stdin,
            stdout,
            stderr,
            control,
        } = process;
        let mut stdin = stdin.ok_or(Failed::ForNow)?;
        let request = RejoinRequest {
            ticket: self.ticket,
            received,
        };
        let asked = stdin.write_all(&request.to_bytes());
        asked
            .and_then(|()| stdin.flush())
            .map_err(|_| Failed::ForNow)?;
        let mut stream = FromSeatStream {
            stdout,
            stderr,
            control,
            frames: FrameReader::default(),
        };
        let has_received = stream.greeting().map_err(|_| stream.failure())?;
        line.resume(has_received, stdin)
            .map_err(|_| Failed::ForGood)?;
        Ok(stream)
    }

    /// Returns whether nothing can be started in the container any more. It may be paused.
    fn failure(&self) -> Failed {
        match self.engine.container(&self.container) {
            Ok(None) => Failed::ForGood,
            Ok(Some(found)) if matches!(found.state, ContainerState::Exited { .. }) => {
                Failed::ForGood
            }
            _ => Failed::ForNow,
        }
    }
}

impl FromSeatStream {
    /// Returns how many bytes the seat has received.
    fn greeting(&mut self) -> io::Result<u64> {
        let nonsense = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        let mut chunk = [0; 4096];
        loop {
            if let Some(frame) = self.frames.next_frame().map_err(nonsense)? {
                return match FromSeat::parse(frame).map_err(nonsense)? {
                    FromSeat::Received(count) => Ok(count),
                    _ => Err(io::ErrorKind::InvalidData.into()),
                };
            }
            match self.stdout.read(&mut chunk) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => self.frames.push(chunk.get(..length).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Tells a `porter rejoin` that found no seat from one that was broken off.
    fn failure(&self) -> Failed {
        match self.control.wait() {
            Ok(code) if code == i32::from(exit::FAILED) => Failed::ForGood,
            _ => Failed::ForNow,
        }
    }
}
