//! The channel of PID 1, and what a process that it started is told.
//!
//! ```text
//! host → PID 1     "start ID", with stdin, stdout and stderr (SCM_RIGHTS, unix(7))
//! PID 1 → host     "started ID" or "refused ID REASON"
//! host → process   a spawn message, on its stdin
//! host → PID 1     "signal ID NUMBER"
//! PID 1 → host     "ended ID CODE"
//!
//! spawn     = "order " ARGUMENTS " " VARIABLES " " LENGTH "\n" directory argument* variable*
//! directory = string        empty: where PID 1 is
//! argument  = string        the program's path first
//! variable  = NAME "=" string
//! string    = (any byte but NUL)* NUL
//! ```
//!
//! The host chooses each ID, and never chooses one twice. A signal goes to every process of the
//! session (setsid(2)) that the started process leads; one that has ended gets none.
//! LENGTH counts what follows, in bytes. What a spawn message says is what an engine would be
//! asked for by an exec, and means the same.
//!
//! PID 1 runs at most [`MOST_PROCESSES`] at once. The host's end is also its lifeline: once PID 1
//! has heard a word on the channel, a hang-up makes it end every process, as at a deadline.

mod spawn_message;

use std::fmt;

pub use spawn_message::SpawnMessage;

/// The most processes that PID 1 runs for the host at once.
pub const MOST_PROCESSES: usize = 32;

/// The longest [`InitRequest`] and the longest [`InitNotice`], in bytes.
pub const LONGEST_WORD: usize = 32;

/// What the host says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitRequest {
    /// Starts a process, with the three streams that come along.
    Start {
        /// The process, from here on.
        id: u32,
    },
    /// Signals a process's session.
    Signal {
        /// The process.
        id: u32,
        /// The signal's number.
        signal: i32,
    },
}

/// What PID 1 says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitNotice {
    /// The process runs, and only it has the streams.
    Started {
        /// The process.
        id: u32,
    },
    /// The process was not started.
    Refused {
        /// The process.
        id: u32,
        /// Why.
        refusal: Refusal,
    },
    /// The process has ended.
    Ended {
        /// The process.
        id: u32,
        /// Its exit code, or 128 and the number of the signal that killed it.
        code: u8,
    },
}

/// Why PID 1 did not start a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It runs [`MOST_PROCESSES`] already.
    #[error("{MOST_PROCESSES} processes run already")]
    Full,
    /// The kernel makes no more processes: the container's limit is reached.
    #[error("the container is at its limit of processes")]
    Failed,
    /// A process has this ID.
    #[error("another process has this number")]
    Taken,
}

impl Refusal {
    const ALL: [Self; 3] = [Self::Full, Self::Failed, Self::Taken];

    fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Failed => "failed",
            Self::Taken => "taken",
        }
    }
}

impl InitRequest {
    /// Reads a request; `None` if the host says no such thing.
    pub fn parse(said: &[u8]) -> Option<Self> {
        let said = std::str::from_utf8(said).ok()?;
        let words: Vec<&str> = said.split(' ').collect();
        let request = match words[..] {
            ["start", id] => Self::Start {
                id: id.parse().ok()?,
            },
            ["signal", id, signal] => Self::Signal {
                id: id.parse().ok()?,
                signal: signal
                    .parse()
                    .ok()
                    .filter(|signal| (1..=64).contains(signal))?,
            },
            _ => return None,
        };
        // Each number has one spelling.
        (request.to_string() == said).then_some(request)
    }
}

impl fmt::Display for InitRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start { id } => write!(f, "start {id}"),
            Self::Signal { id, signal } => write!(f, "signal {id} {signal}"),
        }
    }
}

impl InitNotice {
    /// Reads a notice; `None` if PID 1 says no such thing.
    pub fn parse(said: &[u8]) -> Option<Self> {
        let said = std::str::from_utf8(said).ok()?;
        let words: Vec<&str> = said.split(' ').collect();
        let notice = match words[..] {
            ["started", id] => Self::Started {
                id: id.parse().ok()?,
            },
            ["refused", id, reason] => Self::Refused {
                id: id.parse().ok()?,
                refusal: (Refusal::ALL.into_iter()).find(|refusal| refusal.word() == reason)?,
            },
            ["ended", id, code] => Self::Ended {
                id: id.parse().ok()?,
                code: code.parse().ok()?,
            },
            _ => return None,
        };
        (notice.to_string() == said).then_some(notice)
    }
}

impl fmt::Display for InitNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started { id } => write!(f, "started {id}"),
            Self::Refused { id, refusal } => write!(f, "refused {id} {}", refusal.word()),
            Self::Ended { id, code } => write!(f, "ended {id} {code}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_as_it_was_written() {
        let id = u32::MAX;
        for request in [
            InitRequest::Start { id },
            InitRequest::Signal { id: 0, signal: 64 },
        ] {
            let said = request.to_string();
            assert!(said.len() <= LONGEST_WORD, "{said}");
            assert_eq!(InitRequest::parse(said.as_bytes()), Some(request));
        }
        let refused = Refusal::ALL.map(|refusal| InitNotice::Refused { id, refusal });
        let others = [
            InitNotice::Started { id },
            InitNotice::Ended { id, code: 255 },
        ];
        for notice in refused.into_iter().chain(others) {
            let said = notice.to_string();
            assert!(said.len() <= LONGEST_WORD, "{said}");
            assert_eq!(InitNotice::parse(said.as_bytes()), Some(notice));
        }
    }

    #[test]
    fn nothing_else_is_a_word() {
        for nonsense in [
            "ended 1 256",
            "ended 1 -1",
            "ended 1 ",
            "ended 1",
            "ended 1 0\n",
            "ended +1 0",
            "ended 01 0",
            "ended 4294967296 0",
            "started",
            "started ",
            "started 1 ",
            "refused 1",
            "refused 1 why",
            "start",
            "start -1",
            "start 1 2",
            "signal 1",
            "signal 1 0",
            "signal 1 65",
            "signal 1 +9",
            "",
            "0",
        ] {
            let said = nonsense.as_bytes();
            assert_eq!(InitNotice::parse(said), None, "{nonsense}");
            assert_eq!(InitRequest::parse(said), None, "{nonsense}");
        }
    }
}
