//! `AuditLog`: what ran, what was judged and who approved it, as a chain of hashes.
//!
//! `audit.jsonl` in the state directory has a [line] for each, and lines are only ever appended.
//! `audit.head` beside it names the last line that was synced, so that lines that were cut off are
//! missed. The log shows damage and careless edits. It can't bind a user who may write the state
//! directory: such a user can write a whole new chain.

pub mod event;
pub mod line;
#[cfg(test)]
mod tests;
pub mod verify;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lazaret_runtime::SessionId;
use lazaret_tree::{AtPath as _, Digest, PathError};
use serde::{Deserialize, Serialize};

use self::event::AuditEvent;
use self::line::Entry;
use crate::store::file::{ok_if_absent, write_atomically};

/// Whether an entry has to be on the disk before what it tells of happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// It may be lost with the power.
    Written,
    /// It, and all before it, are on the disk, and are missed from then on if they are cut off.
    Synced,
}

/// The log of a state directory.
#[derive(Debug, Clone)]
pub struct AuditLog {
    log: PathBuf,
    head: PathBuf,
    lock: PathBuf,
}

/// An entry, and where it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    n: u64,
    #[serde(with = "line::hex")]
    hash: Digest,
    /// Where its line ends, in bytes from the beginning.
    end: u64,
}

impl Head {
    const NONE: Self = Self {
        n: 0,
        hash: line::FIRST,
        end: 0,
    };
}

impl AuditLog {
    /// The log of a state directory; nothing is made yet.
    pub fn of(state_dir: &Path) -> Self {
        Self {
            log: state_dir.join("audit.jsonl"),
            head: state_dir.join("audit.head"),
            lock: state_dir.join("locks").join("audit"),
        }
    }

    /// Appends an entry. Of several processes that do, one waits for the other.
    ///
    /// # Errors
    /// When the disk refuses; then nothing is appended.
    pub fn append(
        &self,
        session: &SessionId,
        event: AuditEvent,
        durability: Durability,
    ) -> Result<(), PathError> {
        let _lock = self.locked()?;
        let mut file = private()
            .read(true)
            .append(true)
            .open(&self.log)
            .at(&self.log)?;
        let last = self.last(&mut file)?;
        let entry = Entry {
            n: last.n + 1,
            at: milliseconds_since_1970(),
            prev: last.hash,
            session: session.to_string(),
            event,
        };
        let (line, hash) = entry.to_line().at(&self.log)?;
        file.write_all(line.as_bytes()).at(&self.log)?;
        if durability == Durability::Written {
            return Ok(());
        }
        file.sync_data().at(&self.log)?;
        self.set_head(Head {
            n: entry.n,
            hash,
            end: last.end + line.len() as u64,
        })
    }

    /// Reads the log and its head, while nothing is appended.
    fn read(&self) -> Result<(Vec<u8>, Head), PathError> {
        let _lock = match self.lock.exists() {
            true => Some(self.locked()?),
            false => None,
        };
        let bytes = ok_if_absent(fs::read(&self.log)).at(&self.log)?;
        Ok((bytes.unwrap_or_default(), self.head()?))
    }

    fn locked(&self) -> Result<File, PathError> {
        let lock = private().append(true).open(&self.lock).at(&self.lock)?;
        lock.lock().at(&self.lock)?;
        Ok(lock)
    }

    /// Finds the last entry, from the head on. A part of a line, which a process wrote that was
    /// killed, was never an entry, and goes.
    fn last(&self, file: &mut File) -> Result<Head, PathError> {
        let mut last = self.head()?;
        let mut rest = Vec::new();
        file.seek(SeekFrom::Start(last.end)).at(&self.log)?;
        file.read_to_end(&mut rest).at(&self.log)?;
        for line in rest.split_inclusive(|byte| *byte == b'\n') {
            let Some(whole) = line.strip_suffix(b"\n") else {
                file.set_len(last.end).at(&self.log)?;
                break;
            };
            last.end += line.len() as u64;
            // One that is damaged stays for `verify` to name.
            if let Some((entry, hash)) = Entry::parse(whole) {
                (last.n, last.hash) = (entry.n, hash);
            }
        }
        Ok(last)
    }

    fn head(&self) -> Result<Head, PathError> {
        let bytes = ok_if_absent(fs::read(&self.head)).at(&self.head)?;
        let parsed = bytes.map(|bytes| serde_json::from_slice(&bytes));
        let head = parsed.transpose().map_err(io::Error::from);
        Ok(head.at(&self.head)?.unwrap_or(Head::NONE))
    }

    fn set_head(&self, head: Head) -> Result<(), PathError> {
        let text = serde_json::to_vec(&head).map_err(io::Error::from);
        write_atomically(&self.head, &text.at(&self.head)?)
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).mode(0o600);
    options
}

fn milliseconds_since_1970() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}
