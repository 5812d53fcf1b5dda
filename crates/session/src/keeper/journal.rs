//! `Journal`: what happens in a kept session, numbered, for `events` and `wait`.
//!
//! `events.jsonl` in the session's directory has a line for each, the oldest first. Of more than
//! 4 MiB the newer half at least is kept. Numbers go on from one keeper to the next.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use lazaret_egress::Denied;
use lazaret_tree::{AtPath as _, PathError};
use serde::{Deserialize, Serialize};

use crate::lifecycle::disk_limits::ExceededBy;
use crate::services::status::ServiceState;
use crate::store::SessionDir;
use crate::store::file::ok_if_absent;

/// The most bytes of one file.
const MOST: u64 = 2 << 20;

/// The file that is written, and the one before it.
const NAMES: [&str; 2] = ["events.jsonl", "events.old.jsonl"];

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEvent {
    /// Its number, from 1 on.
    pub n: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    /// What it was.
    #[serde(flatten)]
    pub what: Happening,
}

/// What can happen. Texts of the command's are raw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Happening {
    /// The command started.
    RunStarted {
        /// The command.
        command: Vec<String>,
    },
    /// The command ended; with `stay` its container goes on.
    RunEnded {
        /// Its exit code.
        exit_code: i32,
        /// Whether its time was up.
        timed_out: bool,
        /// Whether its container stays.
        stays: bool,
    },
    /// A client came.
    Attached {
        /// Whether it drives.
        driver: bool,
    },
    /// A client left.
    Detached,
    /// The command rang the bell or sent a notification (OSC 9, OSC 777).
    NeedsInput {
        /// What it says; empty for a bell.
        text: String,
    },
    /// A request of the command's to the network was refused.
    Denied {
        /// The host and the port.
        target: String,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Denied>,
    },
    /// A service is somewhere else than it was.
    Service {
        /// Its name.
        service: String,
        /// Where it is now.
        state: ServiceState,
        /// How it ended, if it did.
        exit_code: Option<i32>,
    },
    /// The volume holds more than it may, and the command is paused.
    Disk {
        /// Bytes that it holds.
        bytes: u64,
        /// Inodes that it holds.
        inodes: u64,
        /// Which limit that is too much for.
        by: ExceededBy,
    },
    /// The command that was paused for that goes on.
    DiskReleased,
    /// The session is being stopped.
    Stopping {
        /// Why.
        why: StopCause,
    },
    /// The session is at rest, and its keeper ends.
    Ended {
        /// What `lazaret start` would have ended with.
        exit_code: u8,
    },
}

/// Why a session is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// A user asked for it.
    Asked,
    /// Nothing happened for as long as `limits.idle` says.
    Idle,
    /// It lasted as long as `limits.life` says.
    Life,
    /// It held more than it may, and no user made room.
    Disk,
    /// A service that its profile requires is down.
    Service,
}

/// The events of a session, as one process writes them.
#[derive(Debug)]
pub(super) struct Journal {
    dir: PathBuf,
    file: Option<File>,
    written: u64,
    next: u64,
}

impl Journal {
    /// Goes on with the events of a session. A disk that refuses costs the file, not the session.
    pub(super) fn open(dir: &SessionDir) -> Self {
        let path = dir.file(NAMES[0]);
        let last = last_number(dir).unwrap_or_default();
        let file = open(&path).ok();
        let written = file.as_ref().and_then(|file| file.metadata().ok());
        Self {
            dir: dir.path().to_owned(),
            file,
            written: written.map_or(0, |metadata| metadata.len()),
            next: last + 1,
        }
    }

    /// Numbers an event, and writes it down.
    pub(super) fn add(&mut self, what: Happening) -> SessionEvent {
        let event = SessionEvent {
            n: self.next,
            at: now(),
            what,
        };
        self.next += 1;
        if self.write(&event).is_err() {
            self.file = None;
        }
        event
    }

    fn write(&mut self, event: &SessionEvent) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        if self.written + line.len() as u64 > MOST {
            let [new, old] = NAMES.map(|name| self.dir.join(name));
            fs::rename(&new, old)?;
            self.file = Some(open(&new)?);
            self.written = 0;
        }
        if let Some(file) = &mut self.file {
            file.write_all(&line)?;
            self.written += line.len() as u64;
        }
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600).open(path)
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

fn last_number(dir: &SessionDir) -> Result<u64, PathError> {
    Ok(events_since(dir, 0)?.last().map_or(0, |event| event.n))
}

/// Reads the events of a session after the one with the number `since`, the oldest first. What is
/// cut off at the end of a file is left out.
///
/// # Errors
/// The disk's.
pub fn events_since(dir: &SessionDir, since: u64) -> Result<Vec<SessionEvent>, PathError> {
    let mut events: Vec<SessionEvent> = Vec::new();
    for name in NAMES.iter().rev() {
        let path = dir.file(name);
        let Some(file) = ok_if_absent(File::open(&path)).at(&path)? else {
            continue;
        };
        for line in BufReader::new(file).lines() {
            let line = line.at(&path)?;
            let event: Option<SessionEvent> = serde_json::from_str(&line).ok();
            events.extend(event.filter(|event| event.n > since));
        }
    }
    events.sort_by_key(|event| event.n);
    events.dedup_by_key(|event| event.n);
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_numbered_over_keepers_and_halves() {
        let temp = tempfile::tempdir().unwrap();
        let dir = SessionDir::at(temp.path());
        let text = "x".repeat(1000);
        let mut last = 0;
        for _ in 0..2 {
            let mut journal = Journal::open(&dir);
            for _ in 0..3000 {
                let text = text.clone();
                last = journal.add(Happening::NeedsInput { text }).n;
            }
        }
        assert_eq!(last, 6000);
        let events = events_since(&dir, 0).unwrap();
        assert!(events.len() > 2000, "{}", events.len());
        assert!(events.windows(2).all(|pair| pair[0].n + 1 == pair[1].n));
        assert_eq!(events_since(&dir, last - 1).unwrap().len(), 1);
        let sizes = NAMES.map(|name| fs::metadata(dir.file(name)).unwrap().len());
        assert!(sizes.iter().all(|size| *size <= MOST), "{sizes:?}");
    }

    #[test]
    fn a_line_that_is_cut_off_is_no_event() {
        let temp = tempfile::tempdir().unwrap();
        let dir = SessionDir::at(temp.path());
        Journal::open(&dir).add(Happening::Detached);
        let mut file = open(&dir.file(NAMES[0])).unwrap();
        file.write_all(b"{\"n\":2,\"at\":3,\"ki").unwrap();
        assert_eq!(events_since(&dir, 0).unwrap().len(), 1);
    }
}
