//! One exchange with `porter mail`, which runs beside the command of a live session.
//!
//! What it tells is bounded, and so is the time that it takes: the command could stop it, since
//! both are of one user.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime};

use lazaret_protocol::{MAX_MAIL_ENTRIES, MailFound, RecordError, Verb};
use lazaret_runtime::AGENT_HOME;
use lazaret_tree::escape;
use lazaret_validator::HandedOut;

use super::mailbox::{Mailbox, MailboxError};
use super::roster::Roster;
use crate::keeper::connection::Connection;
use crate::keeper::frame::{Channel, Frame, Kind};
use crate::keeper::message::{Exec, Exit, Role};
use crate::store::SessionDir;
use crate::store::handed_out::HandedOutFile;

/// How long one exchange may take.
const LIMIT: Duration = Duration::from_secs(30);

/// The most bytes of what a porter says on stderr.
const MOST_SAID: usize = 2048;

/// Why a mailbox could not be read or emptied. What was stored is stored.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// The mail can't be kept.
    #[error(transparent)]
    Mailbox(#[from] MailboxError),
    /// What the porter tells can't be.
    #[error("what lies in the mailbox can't be told")]
    Found(#[source] RecordError),
    /// The porter failed.
    #[error("the mailbox can't be emptied: {0}")]
    Porter(String),
    /// It ended too early, or took too long.
    #[error("the exchange with the mailbox was broken off")]
    Broken(#[from] io::Error),
}

/// Returns the process that an exchange is with.
pub fn process() -> Exec {
    let verb = Verb::Mail {
        home: AGENT_HOME.to_owned(),
        most: MAX_MAIL_ENTRIES,
    };
    Exec {
        argv: verb.to_command(),
        env: BTreeMap::new(),
        workdir: Some("/".to_owned()),
        terminal: None,
        stdin: true,
        leave: false,
        role: Role::Porter,
    }
}

/// Takes what lies in the mailbox, and has removed what is stored; what holds a login that
/// the session was lent is refused. `connection` is that of a
/// [`process`].
///
/// # Errors
/// See [`MailError`]. Nothing is lost: what is not stored stays inside.
pub fn exchange(
    connection: &Connection,
    mailbox: &Mailbox,
    roster: &Roster,
    session: &SessionDir,
) -> Result<(), MailError> {
    let handed = HandedOutFile::of(session).handed_out();
    let handed = handed.map_err(MailboxError::Io)?;
    let (over, ended) = mpsc::channel::<()>();
    let closing = connection.clone();
    // Its end ends the process inside.
    let clock = thread::spawn(move || {
        if ended.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
            closing.close();
        }
    });
    let outcome = converse(connection, mailbox, roster, &handed);
    drop(over);
    connection.close();
    let _panicked = clock.join();
    outcome
}

fn converse(
    connection: &Connection,
    mailbox: &Mailbox,
    roster: &Roster,
    handed: &HandedOut,
) -> Result<(), MailError> {
    let mut porter = FromPorter::new(connection);
    let found = match MailFound::read_from(&mut porter) {
        Ok(found) => found,
        Err(error) => return Err(porter.failed(MailError::Found(error))),
    };
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = since.unwrap_or_default().as_secs();
    let orders = mailbox.take(roster, &found, handed, now)?;
    let mut bytes = Vec::new();
    orders.write_to(&mut bytes)?;
    let sent = Frame::data(Channel::Stdin, &bytes)
        .try_for_each(|frame| connection.send(&frame))
        .and_then(|()| connection.send(&Frame::eof(Channel::Stdin)));
    io::copy(&mut porter, &mut io::sink())?;
    match porter.code {
        Some(0) => Ok(mailbox.removed(&roster.own.group, &orders.remove)?),
        Some(_) => Err(porter.failed(MailError::Porter(String::new()))),
        None => Err(sent
            .err()
            .unwrap_or(io::ErrorKind::UnexpectedEof.into())
            .into()),
    }
}

/// What a porter writes.
struct FromPorter<'a> {
    connection: &'a Connection,
    arrived: Vec<u8>,
    taken: usize,
    said: Vec<u8>,
    code: Option<u8>,
}

impl<'a> FromPorter<'a> {
    fn new(connection: &'a Connection) -> Self {
        Self {
            connection,
            arrived: Vec::new(),
            taken: 0,
            said: Vec::new(),
            code: None,
        }
    }

    /// Returns what the porter said of its failure, else `error`.
    fn failed(&self, error: MailError) -> MailError {
        match self.said.trim_ascii() {
            [] => error,
            said => MailError::Porter(escape(said)),
        }
    }
}

impl Read for FromPorter<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.arrived.len() && self.code.is_none() {
            let Some(frame) = self.connection.read()? else {
                return Ok(0);
            };
            match (frame.kind, frame.channel) {
                (Kind::Data, Channel::Stderr) => {
                    let room = MOST_SAID.saturating_sub(self.said.len());
                    let said = frame.payload.iter().take(room);
                    self.said.extend(said);
                }
                (Kind::Data, _) => {
                    self.arrived = frame.payload;
                    self.taken = 0;
                }
                (Kind::Exit, _) => self.code = frame.parse().ok().map(|Exit { code, .. }| code),
                _ => {}
            }
        }
        let rest = self.arrived.get(self.taken..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.taken += count;
        Ok(count)
    }
}
