//! Waits until a porter that goes on says that it is ready.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::cancel::{Cancel, Interrupted};

/// How long a porter may take until it is ready.
const START: Duration = Duration::from_secs(60);

/// Between two looks whether the user wants an end.
const TICK: Duration = Duration::from_millis(100);

/// Why a porter is not ready.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    /// The user wants an end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// It says nothing.
    #[error("nothing was heard within {} s", START.as_secs())]
    Silent,
    /// It ended.
    #[error("the porter has ended")]
    Ended,
    /// As its source, and it said why.
    #[error("{words}")]
    Said {
        /// The last that it said, escaped.
        words: String,
        /// What came of it.
        source: Box<Self>,
    },
}

impl NotReady {
    /// Adds the last line that the porter said on stderr, if there is one.
    #[must_use]
    pub(crate) fn with_words(self, stderr: &[u8]) -> Self {
        let words = String::from_utf8_lossy(stderr);
        match words.trim().lines().next_back() {
            None => self,
            Some(last) => Self::Said {
                words: lazaret_tree::escape(last.as_bytes()),
                source: Box::new(self),
            },
        }
    }

    /// Returns true if the user wants an end.
    pub fn is_interrupted(&self) -> bool {
        match self {
            Self::Interrupted(_) => true,
            Self::Said { source, .. } => source.is_interrupted(),
            Self::Silent | Self::Ended => false,
        }
    }
}

/// Waits for the word, which is something sent or the sender's end.
pub(crate) fn await_ready(ready: &Receiver<()>, cancel: &Cancel) -> Result<(), NotReady> {
    let give_up = Instant::now() + START;
    loop {
        cancel.check()?;
        match ready.recv_timeout(TICK) {
            Ok(()) => return Ok(()),
            Err(RecvTimeoutError::Timeout) if Instant::now() < give_up => {}
            Err(RecvTimeoutError::Timeout) => return Err(NotReady::Silent),
            Err(RecvTimeoutError::Disconnected) => return Err(NotReady::Ended),
        }
    }
}
