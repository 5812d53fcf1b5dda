//! `Connection`: the client's end of the keeper's socket.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::frame::{Frame, Kind};
use super::message::{Accepted, Hello, MAGIC, PROTOCOL, RefusalCode, Refused, Reply, Request};
use super::place;
use crate::store::SessionDir;

/// How long a keeper may take to say its first word.
const HELLO: Duration = Duration::from_secs(2);

/// Why a keeper can't be spoken with.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// It says nothing: it was stopped, or hangs.
    #[error("the session's keeper does not answer")]
    Silent,
    /// Something else listens there, or speaks another version.
    #[error("the session is kept by lazaret {version}, which speaks another protocol")]
    Protocol {
        /// Its version.
        version: String,
    },
    /// It says no.
    #[error("{}", .0.message)]
    Refused(Refused),
    /// The connection failed.
    #[error("the connection to the session's keeper broke off")]
    Io(#[from] io::Error),
}

impl KeeperError {
    /// Returns the keeper's own word for why it refuses.
    pub fn refusal(&self) -> Option<RefusalCode> {
        match self {
            Self::Refused(refused) => Some(refused.code),
            _ => None,
        }
    }
}

/// A client's connection. Clones share it.
#[derive(Debug, Clone)]
pub struct Connection(Arc<Open>);

#[derive(Debug)]
struct Open {
    stream: UnixStream,
    /// Held while a frame is written, so that two of them never mix.
    sending: Mutex<()>,
    is_closed: AtomicBool,
}

impl Connection {
    /// Connects to the keeper of a session, asks for something, and hears the answer; `None` if it
    /// has no keeper.
    ///
    /// # Errors
    /// See [`KeeperError`].
    pub fn ask(
        session: &SessionDir,
        request: &Request,
    ) -> Result<Option<(Self, Accepted)>, KeeperError> {
        let Some(stream) = place::connect(session)? else {
            return Ok(None);
        };
        stream.set_read_timeout(Some(HELLO))?;
        let hello = match Frame::read_from(&mut &stream) {
            Ok(Some(frame)) if frame.kind == Kind::Hello => frame.parse::<Hello>()?,
            // It ended in this very moment.
            Ok(None) => return Ok(None),
            Ok(Some(_)) => {
                return Err(KeeperError::Protocol {
                    version: "?".to_owned(),
                });
            }
            Err(error) if is_timeout(&error) => return Err(KeeperError::Silent),
            Err(error) => return Err(error.into()),
        };
        if hello.magic != MAGIC || !(hello.oldest..=hello.newest).contains(&PROTOCOL) {
            return Err(KeeperError::Protocol {
                version: hello.version,
            });
        }
        Frame::json(Kind::Request, request)?.write_to(&mut &stream)?;
        stream.set_read_timeout(None)?;
        let frame = Frame::read_from(&mut &stream)?
            .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        match frame.parse()? {
            Reply::Ok(accepted) => {
                let open = Open {
                    stream,
                    sending: Mutex::new(()),
                    is_closed: AtomicBool::new(false),
                };
                Ok(Some((Self(Arc::new(open)), accepted)))
            }
            Reply::Error(no) => Err(KeeperError::Refused(no)),
        }
    }

    /// Reads the next frame; `None` when the keeper is gone.
    ///
    /// # Errors
    /// The connection's.
    pub fn read(&self) -> io::Result<Option<Frame>> {
        match Frame::read_from(&mut &self.0.stream) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(None),
            read => read,
        }
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// The connection's.
    pub fn send(&self, frame: &Frame) -> io::Result<()> {
        let _whole = self
            .0
            .sending
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        frame.write_to(&mut &self.0.stream)
    }

    /// Sends a frame, or ends the connection if another thread is held up by sending one.
    pub fn send_or_close(&self, frame: &Frame) {
        let sent = match self.0.sending.try_lock() {
            Ok(_whole) => frame.write_to(&mut &self.0.stream),
            Err(_) => Err(io::ErrorKind::WouldBlock.into()),
        };
        if sent.is_err() {
            self.close();
        }
    }

    /// Says that nothing more is sent. A keeper lets an attached client go then, and ends the
    /// connection, which a read on another thread sees; if it does not, that read ends after 2 s.
    pub fn leave(&self) {
        /// How long a keeper has that hangs.
        const PATIENCE: Duration = Duration::from_secs(2);
        let _closed_already = self.0.stream.shutdown(Shutdown::Write);
        let late = self.clone();
        thread::spawn(move || {
            thread::sleep(PATIENCE);
            late.close();
        });
    }

    /// Ends the connection: a read on another thread returns.
    pub fn close(&self) {
        self.0.is_closed.store(true, Ordering::SeqCst);
        let _closed_already = self.0.stream.shutdown(Shutdown::Both);
    }

    /// Whether this end was closed.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed.load(Ordering::SeqCst)
    }
}

pub(super) fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}
