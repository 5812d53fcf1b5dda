//! The streams of the agent's program.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use lazaret_session::keeper::connection::Connection;
use lazaret_session::keeper::frame::{Channel, Frame, Kind};
use lazaret_session::keeper::message::Exit;

use crate::app::App;
use crate::environment::StreamKind;
use crate::ui::Output;
use crate::ui::terminal::{Destination, filtered};

/// How the agent ended. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct AgentEnd(Arc<Mutex<Option<u8>>>);

impl AgentEnd {
    /// Returns its exit code; `None` if it was lost.
    pub(super) fn code(&self) -> Option<u8> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says how it ended.
    pub(super) fn words(&self) -> String {
        match self.code() {
            Some(code) => format!("the agent ended with exit code {code}"),
            None => "the agent was lost: its session was stopped, or its keeper is gone".to_owned(),
        }
    }
}

/// What the agent prints on stdout. What it prints on stderr goes to this process's.
pub(super) struct AgentOutput {
    connection: Connection,
    end: AgentEnd,
    stderr: Box<dyn Write + Send>,
    /// What was received, and how much of it was read.
    chunk: (Vec<u8>, usize),
}

impl AgentOutput {
    pub(super) fn new(connection: Connection, end: AgentEnd, app: &App) -> Self {
        let destination = match app.env.streams.stderr {
            StreamKind::Terminal => Destination::Terminal,
            StreamKind::Other => Destination::Other,
        };
        Self {
            connection,
            end,
            stderr: filtered(app.ui.writer(Output::Stderr), destination),
            chunk: (Vec::new(), 0),
        }
    }
}

impl Read for AgentOutput {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let (chunk, read) = &mut self.chunk;
            let rest = chunk.get(*read..).unwrap_or_default();
            if !rest.is_empty() {
                let count = (&mut &*rest).read(into)?;
                *read += count;
                return Ok(count);
            }
            let Some(frame) = self.connection.read()? else {
                return Ok(0);
            };
            match (frame.kind, frame.channel) {
                (Kind::Data, Channel::Stderr) => {
                    // A reader that went away ends nothing (FLT-18).
                    let written = self.stderr.write_all(&frame.payload);
                    drop(written.and_then(|()| self.stderr.flush()));
                }
                (Kind::Data, _) => self.chunk = (frame.payload, 0),
                (Kind::Exit, _) => {
                    let code = frame.parse().ok().map(|Exit { code, .. }| code);
                    *self.end.0.lock().unwrap_or_else(PoisonError::into_inner) = code;
                    return Ok(0);
                }
                _ => {}
            }
        }
    }
}

/// What the agent reads. Dropping it is the end of its stdin.
#[derive(Debug)]
pub(super) struct AgentInput(pub(super) Connection);

impl Write for AgentInput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Frame::data(Channel::Stdin, bytes).try_for_each(|frame| self.0.send(&frame))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for AgentInput {
    fn drop(&mut self) {
        // A program that has ended reads nothing more.
        drop(self.0.send(&Frame::eof(Channel::Stdin)));
    }
}
