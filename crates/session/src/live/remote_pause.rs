//! `RemoteTurn`: the right to pause the command of a live session, in another process than its
//! keeper.
//!
//! The keeper pauses and resumes. It resumes by itself when the connection ends, so a client that
//! is killed leaves no command paused.

use std::io;
use std::time::Duration;

use lazaret_runtime::SessionId;

use crate::cancel::{Cancel, Guard, Interrupted};
use crate::keeper::connection::{Connection, KeeperError};
use crate::keeper::frame::{Frame, Kind};
use crate::keeper::message::{Accepted, RefusalCode, Reply, Request};
use crate::store::SessionDir;

/// Why a command could not be paused, or did not stay paused.
#[derive(Debug, thiserror::Error)]
pub enum RemotePauseError {
    /// The session has no keeper.
    #[error("no keeper has session {0}, so its command can't be paused")]
    NoKeeper(SessionId),
    /// The keeper refuses, or is gone.
    #[error(transparent)]
    Keeper(#[from] KeeperError),
    /// The user wants an end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl From<io::Error> for RemotePauseError {
    fn from(error: io::Error) -> Self {
        Self::Keeper(error.into())
    }
}

/// The right to pause a command. No other client has it meanwhile.
#[derive(Debug)]
#[must_use = "dropping it releases the turn"]
pub struct RemoteTurn<'a> {
    connection: Connection,
    cancel: &'a Cancel,
    /// Ends the connection, and with it every wait for an answer.
    _guard: Guard,
}

/// A paused command. It goes on when the turn is dropped, at the latest.
#[derive(Debug)]
#[must_use = "the command is paused until this is ended"]
pub struct RemotePause<'a>(&'a RemoteTurn<'a>);

impl<'a> RemoteTurn<'a> {
    /// Takes the turn. Waits while another client has it, for a minute at most. `None` if the
    /// command has ended, or is being ended.
    ///
    /// # Errors
    /// See [`RemotePauseError`].
    pub fn take(
        session: &SessionDir,
        cancel: &'a Cancel,
    ) -> Result<Option<Self>, RemotePauseError> {
        let asked = Connection::ask(session, &Request::Pause)?;
        let no_keeper = || RemotePauseError::NoKeeper(session.id().clone());
        let (connection, _) = asked.ok_or_else(no_keeper)?;
        let closing = connection.clone();
        let turn = Self {
            connection,
            cancel,
            _guard: cancel.guard(move |_| closing.close()),
        };
        let answer = turn.answer();
        unless_ending(answer.map(|_| turn))
    }

    /// Pauses the command; `None` if it has ended, or is being ended.
    ///
    /// # Errors
    /// See [`RemotePauseError`].
    pub fn pause(&self) -> Result<Option<RemotePause<'_>>, RemotePauseError> {
        let paused = self.request(Kind::Pause);
        unless_ending(paused.map(|_| RemotePause(self)))
    }

    fn request(&self, kind: Kind) -> Result<Accepted, RemotePauseError> {
        let sent = self.connection.send(&Frame::new(kind, Vec::new()));
        self.cancel.check()?;
        sent?;
        self.answer()
    }

    fn answer(&self) -> Result<Accepted, RemotePauseError> {
        let read = self.connection.read();
        self.cancel.check()?;
        let frame = read?.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        match frame.parse()? {
            Reply::Ok(accepted) => Ok(accepted),
            Reply::Error(no) => Err(KeeperError::Refused(no).into()),
        }
    }
}

/// Returns what the keeper granted; `None` if it refused since the command is to end.
fn unless_ending<T>(granted: Result<T, RemotePauseError>) -> Result<Option<T>, RemotePauseError> {
    match granted {
        Err(RemotePauseError::Keeper(error)) if error.refusal() == Some(RefusalCode::Ending) => {
            Ok(None)
        }
        other => other.map(Some),
    }
}

impl Drop for RemoteTurn<'_> {
    fn drop(&mut self) {
        // Its guard has a clone.
        self.connection.close();
    }
}

impl RemotePause<'_> {
    /// Resumes the command, and returns how long it was paused.
    ///
    /// # Errors
    /// If it was not paused all the time, or the engine fails.
    pub fn end(self) -> Result<Duration, RemotePauseError> {
        let accepted = self.0.request(Kind::Resume)?;
        Ok(Duration::from_millis(
            accepted.paused_ms.unwrap_or_default(),
        ))
    }
}
