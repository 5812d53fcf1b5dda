//! The user's side of a command's streams: a terminal gets what is harmless, a file or a pipe
//! the bytes as they are.

use std::io::{self, Write};

use super::sanitize::TextSanitizer;
use crate::ui::{Output, Ui};
use lazaret_session::lifecycle::command_io::CommandIo;
use lazaret_session::output::screen::ScreenSanitizer;

/// Whether what is written ends on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// A person reads it.
    Terminal,
    /// A person does, and the command draws on the whole of it.
    Screen,
    /// A program does.
    Other,
}

/// The streams of the [`Ui`].
#[derive(Debug)]
pub struct TerminalIo<'a> {
    /// Says and asks.
    pub ui: &'a Ui,
    /// What stdout of the user is.
    pub stdout: Destination,
    /// What stderr of the user is.
    pub stderr: Destination,
}

impl CommandIo for TerminalIo<'_> {
    fn stdout(&self) -> Box<dyn Write + Send> {
        filtered(self.ui.writer(Output::Stdout), self.stdout)
    }

    fn stderr(&self) -> Box<dyn Write + Send> {
        filtered(self.ui.writer(Output::Stderr), self.stderr)
    }
}

/// Passes on to a stream what it may take.
pub fn filtered(
    to: impl Write + Send + 'static,
    destination: Destination,
) -> Box<dyn Write + Send> {
    match destination {
        Destination::Other => Box::new(to),
        Destination::Terminal => {
            let mut text = TextSanitizer::default();
            let filter = move |chunk: &[u8]| text.pass(chunk).into_bytes();
            Box::new(Filtered { to, filter })
        }
        Destination::Screen => {
            let mut screen = ScreenSanitizer::default();
            let filter = move |chunk: &[u8]| screen.pass(chunk);
            Box::new(Filtered { to, filter })
        }
    }
}

/// Writes what a filter makes of each chunk.
struct Filtered<W, F> {
    to: W,
    filter: F,
}

impl<W: Write, F: FnMut(&[u8]) -> Vec<u8>> Write for Filtered<W, F> {
    fn write(&mut self, chunk: &[u8]) -> io::Result<usize> {
        self.to.write_all(&(self.filter)(chunk))?;
        Ok(chunk.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
