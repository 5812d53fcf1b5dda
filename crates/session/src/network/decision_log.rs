//! `DecisionLog`: what the gateway decided, as it arrives, in the session's directory.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use lazaret_egress::{Event, Patterns, Verdict};
use lazaret_tree::{AtPath as _, PathError};
use serde::{Deserialize, Serialize};

use super::denials::{Denial, Denials, OnDenied, denial};

/// The file in a session's directory: one [`Event`] a line.
pub const JOURNAL: &str = "egress.jsonl";

/// The most that it holds, in bytes. What goes beyond is counted, not kept.
const CAP: u64 = 64 << 20;

/// What the gateway decided, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Connections that were allowed.
    pub allowed: u64,
    /// Connections that were denied.
    pub denied: u64,
    /// Requests that the broker answered.
    pub brokered: u64,
    /// Bytes that the command sent.
    pub sent: u64,
    /// Bytes that it received.
    pub received: u64,
    /// Events that are not in the journal, because it is full.
    pub dropped: u64,
}

/// Whether a journal holds everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalEnd {
    /// Everything is there.
    Complete,
    /// It could not be written any more.
    Failed(String),
}

/// The journal of one run.
#[derive(Debug)]
pub(crate) struct DecisionLog {
    patterns: Option<Patterns>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    kept: u64,
    totals: Totals,
    failure: Option<io::Error>,
    denials: Option<Denials>,
}

impl DecisionLog {
    /// Creates the file, readable by the user alone, or empties it.
    pub(crate) fn create(path: &Path, patterns: Option<Patterns>) -> Result<Self, PathError> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path)
            .at(path)?;
        Ok(Self {
            patterns,
            state: Mutex::new(State {
                file,
                kept: 0,
                totals: Totals::default(),
                failure: None,
                denials: None,
            }),
        })
    }

    /// Tells of denied connections from here on, until [`Self::end`].
    pub(crate) fn on_denied(&self, tell: OnDenied) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.denials = Some(Denials::new(tell));
    }

    /// Takes note of an event.
    pub(crate) fn note(&self, event: &Event) {
        let Ok(mut line) = serde_json::to_vec(event) else {
            return;
        };
        if let Some(patterns) = &self.patterns {
            line = patterns.scrub(&line);
        }
        line.push(b'\n');
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.totals.count(event);
        if let (Some(denials), Some(Denial { target, reason })) =
            (&mut state.denials, denial(event))
        {
            let target = match &self.patterns {
                Some(patterns) => {
                    String::from_utf8_lossy(&patterns.scrub(target.as_bytes())).into_owned()
                }
                None => target,
            };
            denials.note(Denial { target, reason }, Instant::now());
        }
        let size = line.len() as u64;
        if state.failure.is_some() || state.kept + size > CAP {
            state.totals.dropped += 1;
            return;
        }
        match state.file.write_all(&line) {
            Ok(()) => state.kept += size,
            Err(error) => state.failure = Some(error),
        }
    }

    /// Returns the numbers so far, and whether everything could be written.
    pub(crate) fn end(&self) -> (Totals, JournalEnd) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.denials = None;
        let end = match &state.failure {
            Some(error) => JournalEnd::Failed(error.to_string()),
            None => JournalEnd::Complete,
        };
        (state.totals, end)
    }
}

impl Totals {
    fn count(&mut self, event: &Event) {
        match event {
            Event::Decision { verdict, .. } => match verdict {
                Verdict::Allowed => self.allowed += 1,
                Verdict::Denied => self.denied += 1,
            },
            Event::Closed { sent, received, .. } => {
                self.sent = self.sent.saturating_add(*sent);
                self.received = self.received.saturating_add(*received);
            }
            Event::Broker { received, .. } => {
                self.brokered += 1;
                self.received = self.received.saturating_add(*received);
            }
            Event::Ready { .. } | Event::Fault { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied() -> Event {
        serde_json::from_str(
            r#"{"event":"decision","at":1,"id":1,"via":"connect","host":"a.test","port":443,"verdict":"denied","reason":"net.not_listed"}"#,
        )
        .unwrap()
    }

    #[test]
    fn flt_07_a_full_disk_loses_the_journal_and_not_the_numbers() {
        let log = DecisionLog::create(Path::new("/dev/full"), None).unwrap();
        for _ in 0..3 {
            log.note(&denied());
        }
        let (totals, end) = log.end();
        assert_eq!((totals.denied, totals.dropped), (3, 2));
        let JournalEnd::Failed(cause) = end else {
            panic!("{end:?}");
        };
        assert!(cause.contains("No space left"), "{cause}");
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(JOURNAL);
        let log = DecisionLog::create(&path, None).unwrap();
        log.state.lock().unwrap().kept = CAP - 10;
        log.note(&denied());
        let (totals, end) = log.end();
        assert_eq!((totals.denied, totals.dropped), (1, 1));
        assert_eq!(end, JournalEnd::Complete);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
    }
}
