//! `Capped`: a stream of a process inside, whose beginning reaches the caller. The rest goes into a
//! file inside, which the next process there can read, or is counted only.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use lazaret_protocol::Verb;
use lazaret_session::keeper::connection::Connection;
use lazaret_session::keeper::frame::{Channel, Frame, Kind};
use lazaret_session::keeper::message::{Exec, Exit, Request, Role};
use lazaret_session::store::SessionDir;

/// The most bytes of a stream that are spilled; more are counted only.
const MAX_SPILL: u64 = 64 << 20;

/// One stream of a process.
pub(crate) struct Capped {
    bytes: u64,
    most: u64,
    spill: Option<Spill>,
}

impl Capped {
    /// Returns a stream of which `most` bytes reach the caller.
    pub(crate) fn new(most: u64, spill: Option<Spill>) -> Self {
        Self {
            bytes: 0,
            most,
            spill,
        }
    }

    /// Counts what came, spills what is too much, and returns the rest.
    pub(crate) fn take<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let room = self.most.saturating_sub(self.bytes);
        let room = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
        let (shown, over) = bytes.split_at(room);
        self.bytes += bytes.len() as u64;
        if let Some(spill) = self.spill.as_mut().filter(|_| !over.is_empty()) {
            spill.write(over);
        }
        shown
    }

    /// Returns how many bytes came.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns whether some of them did not reach the caller.
    pub(crate) fn is_cut(&self) -> bool {
        self.bytes > self.most
    }

    /// Ends the file. Returns where it is inside, if one was written.
    pub(crate) fn finish(&mut self) -> Option<String> {
        self.spill.as_mut()?.finish()
    }
}

/// A file inside, which begins with the first byte that is too much.
pub(crate) struct Spill {
    dir: SessionDir,
    verb: Verb,
    path: String,
    written: u64,
    open: Arc<Open>,
    state: SpillState,
}

enum SpillState {
    /// Nothing was written.
    New,
    /// The porter writes.
    Writing(Connection),
    /// It can't.
    Lost,
}

impl Spill {
    /// Returns a file of a session. `open` gets the connection on which it is written.
    pub(crate) fn new(dir: &SessionDir, directory: &str, name: String, open: &Arc<Open>) -> Self {
        Self {
            dir: dir.clone(),
            path: format!("{directory}/{name}"),
            verb: Verb::Spill {
                directory: directory.to_owned(),
                name,
            },
            written: 0,
            open: Arc::clone(open),
            state: SpillState::New,
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        if let SpillState::New = self.state {
            let exec = read_by(self.verb.to_command());
            self.state = match Connection::ask(&self.dir, &Request::Exec(exec)) {
                Ok(Some((connection, _))) => {
                    self.open.add(&connection);
                    SpillState::Writing(connection)
                }
                // The turn does not depend on it.
                Ok(None) | Err(_) => SpillState::Lost,
            };
        }
        let SpillState::Writing(connection) = &self.state else {
            return;
        };
        let room = usize::try_from(MAX_SPILL - self.written).unwrap_or(usize::MAX);
        let bytes = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        self.written += bytes.len() as u64;
        let sent = Frame::data(Channel::Stdin, bytes).try_for_each(|frame| connection.send(&frame));
        if sent.is_err() {
            self.state = SpillState::Lost;
        }
    }

    /// Ends the file. Returns where it is, if all of it was written.
    fn finish(&mut self) -> Option<String> {
        let SpillState::Writing(connection) = &self.state else {
            return None;
        };
        connection.send(&Frame::eof(Channel::Stdin)).ok()?;
        let mut code = None;
        while let Ok(Some(frame)) = connection.read() {
            if frame.kind == Kind::Exit {
                code = frame.parse().ok().map(|Exit { code, .. }| code);
                break;
            }
        }
        connection.close();
        (code == Some(0)).then(|| self.path.clone())
    }
}

/// Connections that end together.
#[derive(Debug, Default)]
pub(crate) struct Open(Mutex<Vec<Connection>>);

impl Open {
    /// Adds one.
    pub(crate) fn add(&self, connection: &Connection) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(connection.clone());
    }

    /// Ends them all.
    pub(crate) fn close(&self) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().for_each(Connection::close);
    }
}

/// Returns a process beside, which reads and ends with its client.
pub(crate) fn read_by(argv: Vec<String>) -> Exec {
    Exec {
        argv,
        env: BTreeMap::new(),
        workdir: None,
        terminal: None,
        stdin: true,
        leave: false,
        role: Role::Any,
    }
}
