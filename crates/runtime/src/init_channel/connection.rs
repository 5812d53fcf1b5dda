//! `Connection`: the host's end of PID 1's channel, for as long as its container is used.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lazaret_protocol::init::{InitNotice, InitRequest, LONGEST_WORD, Refusal};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown, recv, sendmsg,
    shutdown,
};

/// What the kernel ends every process of a container with when its first one is gone
/// (`man 7 pid_namespaces`).
const KILLED: i32 = 128 + 9;

/// How long PID 1 may take to answer.
const ANSWER: Duration = Duration::from_secs(2);

/// Why PID 1 did not start a process.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It is gone, does not answer, or the streams could not be made.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A connection to PID 1. Dropping it is a hang-up, once PID 1 was asked for a process: PID 1 ends
/// every process then.
pub(super) struct Connection(Arc<Shared>);

struct Shared {
    socket: OwnedFd,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    next: u32,
    /// Whether a thread hears PID 1: once PID 1 was asked for something.
    is_heard: bool,
    is_gone: bool,
    entries: BTreeMap<u32, Arc<Entry>>,
}

/// A process that PID 1 was asked for.
#[derive(Debug)]
pub(super) struct Entry {
    id: u32,
    state: Mutex<EntryState>,
    changed: Condvar,
    /// Readable once the process has ended.
    ended: OwnedFd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryState {
    Asked,
    Refused(Refusal),
    Running,
    Ended(i32),
    /// PID 1 said something that makes no sense.
    Lost,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

impl Connection {
    /// Takes the socket over.
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self(Arc::new(Shared {
            socket,
            table: Mutex::default(),
        }))
    }

    /// Has PID 1 start a process with these streams, and waits until only that has them.
    pub(super) fn start(&self, streams: &[OwnedFd; 3]) -> Result<Arc<Entry>, StartError> {
        let give_up = Instant::now() + ANSWER;
        let entry = self.register()?;
        let started = self
            .hand_in(entry.id, streams, give_up)
            .map_err(StartError::from)
            .and_then(|()| entry.await_started(give_up));
        if started.is_err() {
            // If it starts after all, it finds no message and ends.
            self.0.table().entries.remove(&entry.id);
        }
        started.map(|()| entry)
    }

    /// Signals the session of a process; one that has ended gets none.
    pub(super) fn signal(&self, entry: &Entry, signal: i32) -> io::Result<()> {
        let id = entry.id;
        self.send(
            InitRequest::Signal { id, signal },
            &[],
            Instant::now() + ANSWER,
        )
    }

    fn register(&self) -> io::Result<Arc<Entry>> {
        let ended = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let mut table = self.0.table();
        if table.is_gone {
            return Err(io::ErrorKind::NotConnected.into());
        }
        if !table.is_heard {
            let shared = Arc::clone(&self.0);
            let listener = thread::Builder::new().name("lazaret-init".to_owned());
            listener.spawn(move || shared.listen())?;
            table.is_heard = true;
        }
        let id = table.next;
        table.next += 1;
        let entry = Arc::new(Entry {
            id,
            state: Mutex::new(EntryState::Asked),
            changed: Condvar::new(),
            ended,
        });
        table.entries.insert(id, Arc::clone(&entry));
        Ok(entry)
    }

    fn hand_in(&self, id: u32, streams: &[OwnedFd; 3], give_up: Instant) -> io::Result<()> {
        let streams = streams.each_ref().map(|stream| stream.as_fd());
        self.send(InitRequest::Start { id }, &streams, give_up)
    }

    fn send(
        &self,
        request: InitRequest,
        streams: &[BorrowedFd<'_>],
        give_up: Instant,
    ) -> io::Result<()> {
        let request = request.to_string();
        let word = [IoSlice::new(request.as_bytes())];
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        loop {
            let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            if !streams.is_empty() {
                control.push(SendAncillaryMessage::ScmRights(streams));
            }
            match sendmsg(&self.0.socket, &word, &mut control, flags) {
                Ok(_) => return Ok(()),
                Err(Errno::AGAIN | Errno::INTR) => self.await_room(give_up)?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits until PID 1 has taken earlier requests.
    fn await_room(&self, give_up: Instant) -> io::Result<()> {
        let left = give_up.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let limit = Timespec::try_from(left).map_err(io::Error::other)?;
        let mut ready = [PollFd::new(&self.0.socket, PollFlags::OUT)];
        match poll(&mut ready, Some(&limit)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // PID 1 that was asked for nothing has the same socket, for the next host.
        if self.0.table().is_heard {
            // Ends the listener, which closes the socket.
            let _gone = shutdown(&self.0.socket, Shutdown::Both);
        }
    }
}

impl Shared {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hears PID 1 until it hangs up.
    fn listen(&self) {
        let last = loop {
            let mut word = [0; LONGEST_WORD + 1];
            let length = match recv(&self.socket, &mut word[..], RecvFlags::empty()) {
                Ok((_, 0)) | Err(Errno::CONNRESET) => break EntryState::Ended(KILLED),
                Ok((_, length)) => length,
                Err(Errno::INTR) => continue,
                Err(_) => break EntryState::Lost,
            };
            match InitNotice::parse(word.get(..length).unwrap_or_default()) {
                Some(notice) => self.tell(notice),
                None => break EntryState::Lost,
            }
        };
        let mut table = self.table();
        table.is_gone = true;
        for entry in std::mem::take(&mut table.entries).into_values() {
            entry.set(last);
        }
    }

    fn tell(&self, notice: InitNotice) {
        let (id, state) = match notice {
            InitNotice::Started { id } => (id, EntryState::Running),
            InitNotice::Refused { id, refusal } => (id, EntryState::Refused(refusal)),
            InitNotice::Ended { id, code } => (id, EntryState::Ended(code.into())),
        };
        let mut table = self.table();
        let entry = match state {
            EntryState::Running => table.entries.get(&id).cloned(),
            _ => table.entries.remove(&id),
        };
        drop(table);
        if let Some(entry) = entry {
            entry.set(state);
        }
    }
}

impl Entry {
    fn state(&self) -> MutexGuard<'_, EntryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, state: EntryState) {
        *self.state() = state;
        self.changed.notify_all();
        if matches!(state, EntryState::Ended(_) | EntryState::Lost) {
            let _is_set = rustix::io::write(&self.ended, &1_u64.to_ne_bytes());
        }
    }

    fn await_started(&self, give_up: Instant) -> Result<(), StartError> {
        let mut state = self.state();
        loop {
            match *state {
                EntryState::Running | EntryState::Ended(_) => return Ok(()),
                EntryState::Refused(refusal) => return Err(refusal.into()),
                EntryState::Lost => {
                    return Err(StartError::Io(io::ErrorKind::ConnectionReset.into()));
                }
                EntryState::Asked => {}
            }
            let left = give_up.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(StartError::Io(io::ErrorKind::TimedOut.into()));
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns what becomes readable once the process has ended.
    pub(super) fn ended(&self) -> BorrowedFd<'_> {
        self.ended.as_fd()
    }

    /// Waits until the process has ended, for that long at most; `None` if it still runs.
    pub(super) fn code_within(&self, limit: Option<Duration>) -> Option<io::Result<i32>> {
        let give_up = limit.map(|limit| Instant::now() + limit);
        let mut state = self.state();
        loop {
            match *state {
                EntryState::Ended(code) => return Some(Ok(code)),
                EntryState::Lost => return Some(Err(io::ErrorKind::InvalidData.into())),
                EntryState::Asked | EntryState::Refused(_) | EntryState::Running => {}
            }
            state = match give_up {
                None => (self.changed.wait(state)).unwrap_or_else(PoisonError::into_inner),
                Some(give_up) => {
                    let left = give_up.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return None;
                    }
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}
