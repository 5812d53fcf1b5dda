//! `Turns`: one turn at a time for each session, first come first served, and the answers that were
//! given.
//!
//! ```text
//! asks/<session>/lock          held while a ticket is made
//! asks/<session>/queue/<n>     a ticket, locked by its process: a lock goes with who holds it
//! asks/<session>/last-run      the number of the last turn
//! asks/<session>/answers/<h>   an answer, by the digest of its request's `id`
//! ```

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use lazaret_runtime::SessionId;
use lazaret_tree::{AtPath as _, Digest, PathError};
use serde::{Deserialize, Serialize};

use super::request::AskRequest;
use crate::store::file::{
    list_dir, ok_if_absent, private_dir, remove_dir, remove_file, write_atomically,
};
use crate::store::file_lock::{FileLock, take_lock, take_lock_soon};

/// How long an answer is kept for a request that is sent again.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// The turns of one session.
#[derive(Debug, Clone)]
pub struct Turns {
    dir: PathBuf,
}

/// A place in the queue, until it is dropped.
#[derive(Debug)]
pub struct Ticket {
    number: u64,
    path: PathBuf,
    _lock: File,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // One that stays is found without its lock, and removed by the next.
        let _stays = fs::remove_file(&self.path);
    }
}

/// What is known of a request's `id`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdMatch {
    /// Nothing.
    New,
    /// It was answered so.
    Answered(String),
    /// Another request had the same `id`.
    Other,
}

#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    request: String,
    answer: String,
}

impl Turns {
    /// Opens the turns of a session.
    ///
    /// # Errors
    /// The disk's.
    pub fn open(state_dir: &Path, session: &SessionId) -> Result<Self, PathError> {
        let dir = place(state_dir, session);
        private_dir(&dir.join("queue"))?;
        private_dir(&dir.join("answers"))?;
        Ok(Self { dir })
    }

    /// Removes what is known of the turns of a session that is gone.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn remove(state_dir: &Path, session: &SessionId) -> Result<(), PathError> {
        remove_dir(&place(state_dir, session))
    }

    /// Takes the last place in the queue; `None` if another process is taking one just now.
    ///
    /// # Errors
    /// The disk's.
    pub fn queue_up(&self) -> Result<Option<Ticket>, PathError> {
        let Some(_making) = take_lock_soon(&self.dir.join("lock"))? else {
            return Ok(None);
        };
        let last = self.tickets()?.last().copied().unwrap_or_default();
        let number = last + 1;
        let path = self.ticket(number);
        Ok(take_lock(&path)?.map(|lock| Ticket {
            number,
            path,
            _lock: lock,
        }))
    }

    /// Returns how many are before a ticket.
    ///
    /// # Errors
    /// The disk's.
    pub fn before(&self, ticket: &Ticket) -> Result<usize, PathError> {
        let mut before = 0;
        for number in self.tickets()? {
            if number >= ticket.number {
                break;
            }
            let path = self.ticket(number);
            match FileLock::of(&path)? {
                FileLock::Held => before += 1,
                // Its process is gone.
                FileLock::Taken(_lock) => remove_file(&path)?,
                FileLock::Gone => {}
            }
        }
        Ok(before)
    }

    /// Counts a turn. Only who is first in the queue does so.
    ///
    /// # Errors
    /// The disk's.
    pub fn next_run(&self) -> Result<u64, PathError> {
        let path = self.dir.join("last-run");
        let last = ok_if_absent(fs::read_to_string(&path)).at(&path)?;
        let last: u64 = last.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        write_atomically(&path, (last + 1).to_string().as_bytes())?;
        Ok(last + 1)
    }

    /// Looks for the answer to a request that was sent before.
    ///
    /// # Errors
    /// The disk's.
    pub fn known(&self, request: &AskRequest) -> Result<IdMatch, PathError> {
        let Some(path) = self.answer(request) else {
            return Ok(IdMatch::New);
        };
        let Some(bytes) = ok_if_absent(fs::read(&path)).at(&path)? else {
            return Ok(IdMatch::New);
        };
        if is_old(&path) {
            return Ok(IdMatch::New);
        }
        // One that can't be read was never given.
        let Ok(stored) = serde_json::from_slice::<Stored>(&bytes) else {
            return Ok(IdMatch::New);
        };
        Ok(match stored.request == digest(request) {
            true => IdMatch::Answered(stored.answer),
            false => IdMatch::Other,
        })
    }

    /// Keeps an answer, and forgets old ones.
    ///
    /// # Errors
    /// The disk's.
    pub fn keep(&self, request: &AskRequest, answer: &str) -> Result<(), PathError> {
        for entry in list_dir(&self.dir.join("answers"))? {
            if is_old(&entry.path()) {
                remove_file(&entry.path())?;
            }
        }
        let Some(path) = self.answer(request) else {
            return Ok(());
        };
        let stored = Stored {
            request: digest(request),
            answer: answer.to_owned(),
        };
        let bytes = serde_json::to_vec(&stored).unwrap_or_default();
        write_atomically(&path, &bytes)?;
        Ok(())
    }

    fn ticket(&self, number: u64) -> PathBuf {
        self.dir.join("queue").join(number.to_string())
    }

    /// Returns the numbers of all tickets, in order.
    fn tickets(&self) -> Result<Vec<u64>, PathError> {
        let entries = list_dir(&self.dir.join("queue"))?;
        let number = |name: std::ffi::OsString| name.to_str()?.parse().ok();
        let mut numbers: Vec<u64> = (entries.iter())
            .filter_map(|entry| number(entry.file_name()))
            .collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn answer(&self, request: &AskRequest) -> Option<PathBuf> {
        let name = Digest::of(request.id()?.as_bytes()).to_hex();
        Some(self.dir.join("answers").join(name))
    }
}

fn place(state_dir: &Path, session: &SessionId) -> PathBuf {
    state_dir.join("asks").join(session.as_str())
}

fn digest(request: &AskRequest) -> String {
    Digest::of(request.line().as_bytes()).to_hex()
}

/// Whether a file is too old to count. One from the future is: its clock can't be believed.
fn is_old(path: &Path) -> bool {
    let written = fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let age = written.and_then(|at| SystemTime::now().duration_since(at).ok());
    age.is_none_or(|age| age > KEPT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;
    use crate::store::example::example_record;

    fn turns(dir: &Path) -> Turns {
        Turns::open(dir, &"s".parse().unwrap()).unwrap()
    }

    #[test]
    fn the_queue_is_first_come_first_served() {
        let dir = tempfile::tempdir().unwrap();
        let turns = turns(dir.path());
        let mut tickets: Vec<Ticket> = (0..3).map(|_| turns.queue_up().unwrap().unwrap()).collect();
        let before = |ticket: &Ticket| turns.before(ticket).unwrap();
        assert_eq!(tickets.iter().map(before).collect::<Vec<_>>(), [0, 1, 2]);
        // A ticket that is given up in the middle holds no other one up.
        drop(tickets.remove(1));
        assert_eq!(tickets.iter().map(before).collect::<Vec<_>>(), [0, 1]);
        drop(tickets.remove(0));
        assert_eq!(before(&tickets[0]), 0);
    }

    #[test]
    fn a_ticket_without_its_process_counts_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let turns = turns(dir.path());
        let left = turns.ticket(1);
        fs::write(&left, "").unwrap();
        let ticket = turns.queue_up().unwrap().unwrap();
        assert_eq!(ticket.number, 2);
        assert_eq!(turns.before(&ticket).unwrap(), 0);
        assert!(!left.exists());
    }

    #[test]
    fn answers_go_with_their_session() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let session = store.create(example_record()).unwrap();
        let id = session.dir().id().clone();
        let request = AskRequest::parse(b"{\"id\":\"7\"}").unwrap();
        let turns = Turns::open(dir.path(), &id).unwrap();
        turns.keep(&request, "{}").unwrap();
        session.remove().unwrap();
        let turns = Turns::open(dir.path(), &id).unwrap();
        assert_eq!(turns.known(&request).unwrap(), IdMatch::New);
    }

    #[test]
    fn an_answer_is_given_again_for_a_day() {
        let dir = tempfile::tempdir().unwrap();
        let turns = turns(dir.path());
        let ask = |text: &str| AskRequest::parse(text.as_bytes()).unwrap();
        let first = ask("{\"id\":\"7\",\"prompt\":\"a\"}");
        let other = ask("{\"id\":\"7\",\"prompt\":\"b\"}");
        assert_eq!(turns.known(&first).unwrap(), IdMatch::New);
        turns.keep(&first, "{\"n\":1}").unwrap();
        let answered = IdMatch::Answered("{\"n\":1}".to_owned());
        assert_eq!(turns.known(&first).unwrap(), answered);
        assert_eq!(turns.known(&other).unwrap(), IdMatch::Other);
        let unnamed = ask("{\"prompt\":\"a\"}");
        turns.keep(&unnamed, "{}").unwrap();
        assert_eq!(turns.known(&unnamed).unwrap(), IdMatch::New);
        let path = turns.answer(&first).unwrap();
        let old = SystemTime::now() - KEPT - Duration::from_secs(1);
        File::open(&path).unwrap().set_modified(old).unwrap();
        assert_eq!(turns.known(&first).unwrap(), IdMatch::New);
        turns.keep(&unnamed, "{}").unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn turns_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let turns = turns(dir.path());
        assert_eq!([1, 2].map(|_| turns.next_run().unwrap()), [1, 2]);
    }
}
