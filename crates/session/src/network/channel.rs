//! `GatewayChannel`: a launcher's orders to its gateway, and its heartbeat.

use std::io::{self, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use zeroize::Zeroizing;

/// How long an engine may take to pass a line on.
const PATIENCE: Duration = Duration::from_secs(60);

/// A line, and where to say that it is written.
struct QueuedLine {
    line: Zeroizing<Vec<u8>>,
    written: Sender<io::Result<()>>,
}

/// The input of a gateway, written by a thread that says an empty line when there is nothing
/// else to say. A gateway that hears nothing takes its launcher for dead (NET-23). Dropping
/// it ends the input.
#[derive(Debug)]
pub(crate) struct GatewayChannel(Mutex<Option<Sender<QueuedLine>>>);

impl GatewayChannel {
    /// Begins to speak, at least once every `beat`.
    pub(crate) fn start(input: Box<dyn Write + Send>, beat: Duration) -> Self {
        let (say, words) = mpsc::channel();
        // Not joined: an engine that takes nothing must not hold the launcher.
        thread::spawn(move || speak(input, &words, beat));
        Self(Mutex::new(Some(say)))
    }

    /// Says one line of JSON, and waits until it is written. It may hold keys, so it is wiped.
    ///
    /// # Errors
    /// The gateway does not read any more, or the engine takes too long to pass the line on.
    pub(crate) fn tell(&self, message: &impl serde::Serialize) -> io::Result<()> {
        let mut line = Zeroizing::new(Vec::with_capacity(64 << 10));
        serde_json::to_writer(&mut *line, message)?;
        line.push(b'\n');
        let (written, done) = mpsc::channel();
        {
            let say = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let say = say.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
            let gone = say.send(QueuedLine { line, written });
            gone.map_err(|_| io::ErrorKind::BrokenPipe)?;
        }
        match done.recv_timeout(PATIENCE) {
            Ok(outcome) => outcome,
            Err(RecvTimeoutError::Timeout) => Err(io::ErrorKind::TimedOut.into()),
            Err(RecvTimeoutError::Disconnected) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Ends the input, once what was said before is written.
    pub(crate) fn end(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

fn speak(mut input: Box<dyn Write + Send>, words: &Receiver<QueuedLine>, beat: Duration) {
    loop {
        let (line, written) = match words.recv_timeout(beat) {
            Ok(QueuedLine { line, written }) => (line, Some(written)),
            Err(RecvTimeoutError::Timeout) => (Zeroizing::new(b"\n".to_vec()), None),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let outcome = input.write_all(&line).and_then(|()| input.flush());
        let failed = outcome.is_err();
        if let Some(written) = written {
            // The caller may have given up.
            let _unheard = written.send(outcome);
        }
        if failed {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _};

    use super::*;

    const HEARTBEAT: Duration = Duration::from_millis(20);

    #[test]
    fn net_23_it_speaks_by_itself_and_ends_with_its_launcher() {
        let (reader, writer) = io::pipe().unwrap();
        let channel = GatewayChannel::start(Box::new(writer), HEARTBEAT);
        channel.tell(&"word").unwrap();
        let mut reader = BufReader::new(reader);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert_eq!(line, "\"word\"\n");
        let mut beats = [0; 3];
        reader.read_exact(&mut beats).unwrap();
        assert_eq!(&beats, b"\n\n\n");
        channel.end();
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert_eq!(rest.trim(), "");
        assert!(channel.tell(&"word").is_err());
    }

    #[test]
    fn flt_02_an_input_without_a_reader_delays_nothing() {
        let (reader, writer) = io::pipe().unwrap();
        let channel = GatewayChannel::start(Box::new(writer), HEARTBEAT);
        // More than a pipe holds, in a thread of its own, which never comes back.
        thread::scope(|scope| {
            let telling = scope.spawn(|| channel.tell(&"x".repeat(1 << 20)));
            // It ends though nothing was read yet.
            channel.end();
            drop(reader);
            assert!(telling.join().unwrap().is_err());
        });
    }
}
