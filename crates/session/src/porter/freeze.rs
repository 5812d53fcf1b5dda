//! `SignalFreezer`: `porter hold` in the command's container, and the conversation with it.

use std::io::{self, BufRead as _, BufReader, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use lazaret_protocol::freeze::{END, FreezeReply, KEEP};
use lazaret_protocol::{Verb, exit};
use lazaret_runtime::{ContainerName, Engine, EngineError, Process, ProcessControl, Stdin};
use lazaret_tree::escape;

use crate::porter::conversation::StderrTail;
use crate::porter::porter;

/// The interval of the heartbeat. The porter gives up after three seconds without one.
const HEARTBEAT: Duration = Duration::from_millis(400);

/// How long an answer may take: the porter gives the processes five seconds to stop.
const ANSWER: Duration = Duration::from_secs(20);

/// Why processes could not be held, or were not held all the time.
#[derive(Debug, thiserror::Error)]
pub enum FreezeError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// It could not hold them, or let them go before it was told to. It has let them go.
    #[error("the command can't be held still: {words}")]
    GaveUp {
        /// Its words, escaped.
        words: String,
    },
    /// It was killed, or says nothing.
    #[error("the porter that held the command still is gone: {words}")]
    Gone {
        /// What is known.
        words: String,
    },
}

/// A porter that has stopped the processes, or is ready to.
pub(crate) struct SignalFreezer {
    /// Dropping it ends the heartbeat, and with it the porter's input.
    beat: Option<Sender<u8>>,
    lines: Receiver<String>,
    /// Its complaints, once it has ended.
    stderr_tail: StderrTail,
    control: Box<dyn ProcessControl>,
}

impl std::fmt::Debug for SignalFreezer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignalFreezer").finish_non_exhaustive()
    }
}

impl SignalFreezer {
    /// Starts a porter that waits for [`SignalFreezer::begin`].
    pub(crate) fn prepare(engine: &dyn Engine, agent: &ContainerName) -> Result<Self, EngineError> {
        let Process {
            stdin,
            stdout,
            stderr,
            control,
        } = engine.exec(agent, &porter(&Verb::Freeze, Stdin::Piped))?;
        let (beat, beats) = mpsc::channel();
        if let Some(stdin) = stdin {
            thread::spawn(move || speak(stdin, &beats));
        }
        let (line, lines) = mpsc::channel();
        // Not joined: it ends with its stream, which may be never.
        thread::spawn(move || {
            for text in BufReader::new(stdout).lines() {
                let Ok(text) = text else { return };
                if line.send(text).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            beat: Some(beat),
            lines,
            stderr_tail: StderrTail::of(stderr),
            control,
        })
    }

    /// Stops all processes.
    pub(crate) fn begin(&mut self) -> Result<(), FreezeError> {
        if let Some(beat) = &self.beat {
            // A porter that is gone does not answer either.
            let _gone = beat.send(KEEP);
        }
        self.expect(|reply| matches!(reply, FreezeReply::Frozen { .. }))
    }

    /// Continues all processes.
    pub(crate) fn end(mut self) -> Result<(), FreezeError> {
        if let Some(beat) = self.beat.take() {
            let _gone = beat.send(END);
        }
        self.expect(|reply| reply == FreezeReply::Released)
    }

    fn expect(&self, is_right: impl Fn(FreezeReply) -> bool) -> Result<(), FreezeError> {
        match self.lines.recv_timeout(ANSWER) {
            Ok(line) if FreezeReply::parse(&line).is_some_and(is_right) => Ok(()),
            Ok(line) => Err(FreezeError::Gone {
                words: escape(line.as_bytes()),
            }),
            Err(RecvTimeoutError::Timeout) => Err(FreezeError::Gone {
                words: format!("it did not answer within {} s", ANSWER.as_secs()),
            }),
            Err(RecvTimeoutError::Disconnected) => Err(self.why()),
        }
    }

    /// Returns why it ended. Only one that ended by itself has continued the processes.
    fn why(&self) -> FreezeError {
        let said = self.stderr_tail.within(ANSWER).unwrap_or_default();
        let words = escape(String::from_utf8_lossy(&said).trim().as_bytes());
        match self.control.wait() {
            Ok(code) if code == i32::from(exit::FAILED) => FreezeError::GaveUp { words },
            Ok(code) => FreezeError::Gone {
                words: format!("it ended with {code} {words}"),
            },
            Err(error) => error.into(),
        }
    }
}

/// Writes each word it receives, and heartbeats in between, until the sender is dropped.
fn speak(mut stdin: Box<dyn Write + Send>, words: &Receiver<u8>) {
    let mut say = |word: u8| -> io::Result<()> {
        stdin.write_all(&[word])?;
        stdin.flush()
    };
    let Ok(first) = words.recv() else {
        // The pause never began: end of file alone may not arrive.
        drop(say(END));
        return;
    };
    let mut word = first;
    loop {
        if say(word).is_err() || word == END {
            return;
        }
        word = match words.recv_timeout(HEARTBEAT) {
            Ok(word) => word,
            Err(RecvTimeoutError::Timeout) => KEEP,
            Err(RecvTimeoutError::Disconnected) => END,
        };
    }
}
