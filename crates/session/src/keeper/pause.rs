//! Pauses the command for a client, for as long as its connection lasts.

use std::error::Error;
use std::io;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::answer::{refuse, refused, reply};
use super::connection::is_timeout;
use super::frame::{Frame, Kind};
use super::message::{Accepted, RefusalCode, Refused, Reply};
use crate::live::pause::{LONGEST, NoTurn, PauseError, PausedCommand, Pauses, Turn};

/// How long a client waits for its turn.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for the client's turn, and pauses the command as often as it asks for that.
pub(super) fn serve(stream: &UnixStream, pauses: &Pauses) -> io::Result<()> {
    accept(stream)?;
    let turn = match pauses.take(PATIENCE) {
        Ok(turn) => turn,
        Err(no) => return refuse(stream, no.into()),
    };
    accept(stream)?;
    while let Some(frame) = Frame::read_from(&mut &*stream)? {
        match frame.kind {
            Kind::Pause => pause(stream, &turn)?,
            _ => break,
        }
    }
    Ok(())
}

fn pause(stream: &UnixStream, turn: &Turn<'_>) -> io::Result<()> {
    let mut paused = match turn.pause() {
        Ok(Some(paused)) => paused,
        Ok(None) => return refuse(stream, NoTurn::Over.into()),
        Err(error) => return refuse(stream, error.into()),
    };
    accept(stream)?;
    stream.set_read_timeout(Some(LONGEST))?;
    let heard = Frame::read_from(&mut &*stream);
    stream.set_read_timeout(None)?;
    match heard {
        Ok(Some(frame)) if frame.kind == Kind::Resume => resume(stream, &mut paused),
        Err(error) if is_timeout(&error) => {
            drop(paused);
            turn.settle();
            // It keeps the turn: it may still be at work.
            drop(Frame::read_from(&mut &*stream)?);
            let text = "the command went on before that was done".to_owned();
            refuse(stream, refused(RefusalCode::Engine, text))
        }
        Ok(Some(_)) => Err(io::ErrorKind::InvalidData.into()),
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    }
}

fn resume(stream: &UnixStream, paused: &mut PausedCommand<'_>) -> io::Result<()> {
    match paused.end() {
        Ok(took) => {
            let accepted = Accepted {
                paused_ms: Some(u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
                ..Accepted::default()
            };
            reply(stream, Reply::Ok(accepted))
        }
        Err(error) => refuse(stream, error.into()),
    }
}

fn accept(stream: &UnixStream) -> io::Result<()> {
    reply(stream, Reply::Ok(Accepted::default()))
}

impl From<NoTurn> for Refused {
    fn from(no: NoTurn) -> Self {
        let code = match no {
            NoTurn::Taken(_) => RefusalCode::Taken,
            NoTurn::Over => RefusalCode::Ending,
        };
        refused(code, no.to_string())
    }
}

impl From<PauseError> for Refused {
    fn from(error: PauseError) -> Self {
        let code = match error {
            PauseError::Unsupported => RefusalCode::Invalid,
            PauseError::Engine(_) | PauseError::SignalFreezer(_) | PauseError::WentOn(_) => {
                RefusalCode::Engine
            }
        };
        refused(code, with_causes(&error))
    }
}

/// The text of an error and of what caused it, which has to cross a connection.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
