//! `UsageCounter`: asks a `porter usage` how full the volumes of a session are.

use std::io::{BufReader, Write};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use lazaret_protocol::usage::{Amount, FREE, UsageReply, WALK};
use lazaret_protocol::{Verb, read_line};
use lazaret_runtime::{EngineError, Process, Spawner, Stdin};

use crate::context::WORKSPACE;
use crate::porter::porter;

/// How long an answer may take: a walk over a million files on a slow disk.
const ANSWER: Duration = Duration::from_secs(300);

/// The porter is gone, or makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("the porter does not say how full the volume is")]
pub(crate) struct Unknown;

/// What a volume holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    /// All of it.
    All(Amount),
    /// At least that: directories were moved meanwhile.
    AtLeast(Amount),
}

impl Counted {
    /// Returns what was counted.
    pub(crate) fn amount(self) -> Amount {
        match self {
            Self::All(amount) | Self::AtLeast(amount) => amount,
        }
    }
}

/// A porter that counts. Dropping it ends it.
pub(crate) struct UsageCounter {
    ask: Box<dyn Write + Send>,
    answers: Receiver<UsageReply>,
}

impl std::fmt::Debug for UsageCounter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UsageCounter").finish_non_exhaustive()
    }
}

impl UsageCounter {
    /// Starts it in a container that can read all of the workspace's volume, and of those that are
    /// mounted at `more`.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn start(spawner: &Spawner, more: Vec<String>) -> Result<Option<Self>, EngineError> {
        let verb = Verb::Usage {
            root: WORKSPACE.to_owned(),
            more,
        };
        let Process { stdin, stdout, .. } = spawner.spawn(&porter(&verb, Stdin::Piped))?;
        let (answer, answers) = mpsc::channel();
        // Not joined: it ends with its stream, which may be never.
        thread::spawn(move || {
            let mut lines = BufReader::new(stdout);
            while let Ok(line) = read_line(&mut lines) {
                let Some(reply) = UsageReply::parse(&line) else {
                    return;
                };
                if answer.send(reply).is_err() {
                    return;
                }
            }
        });
        Ok(stdin.map(|ask| Self { ask, answers }))
    }

    /// Returns what the volume's file system has left.
    pub(crate) fn free(&mut self) -> Result<Amount, Unknown> {
        match self.ask(FREE)? {
            UsageReply::Free(amount) => Ok(amount),
            _ => Err(Unknown),
        }
    }

    /// Walks over the volume.
    pub(crate) fn walk(&mut self) -> Result<Counted, Unknown> {
        match self.ask(WALK)? {
            UsageReply::Used(amount) => Ok(Counted::All(amount)),
            UsageReply::Part(amount) => Ok(Counted::AtLeast(amount)),
            UsageReply::Free(_) => Err(Unknown),
        }
    }

    fn ask(&mut self, what: u8) -> Result<UsageReply, Unknown> {
        let asked = (self.ask.write_all(&[what])).and_then(|()| self.ask.flush());
        asked.map_err(|_| Unknown)?;
        self.answers.recv_timeout(ANSWER).map_err(|_| Unknown)
    }
}
