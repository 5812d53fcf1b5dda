//! The user's side of a command's streams: a terminal gets what is harmless, a file or a pipe
//! the bytes as they are.

use std::any::Any;
use std::io::{self, Write};

use rustix::termios::OptionalActions;

use super::raw_mode::RawMode;
use super::sanitize::TextSanitizer;
use super::screen_filter::ScreenSanitizer;
use crate::ui::{Output, Ui};
use lazaret_session::lifecycle::follow::CommandIo;

/// What a program may have left behind: modes of the keyboard (kitty, xterm), mouse, focus,
/// paste, scrolling, the other screen, characters, colours, a cursor that is not shown. The
/// margins and the screen take the cursor along, so its place is saved before.
const RESET: &[u8] = b"\x1b[<99u\x1b[>4;0m\x1b[?1000;1002;1003;1004;1006;2004l\x1b[?1l\x1b>\
    \x1b[?2026l\x1b7\x1b[r\x1b8\x1b7\x1b[?1049l\x1b[?7h\x1b(B\x0f\x1b[0 q\x1b[0m\x1b[?25h";

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

    fn take_terminal(&self) -> io::Result<Box<dyn Any>> {
        let mut terminal = RawMode::prepare(self.ui, Output::Stdout, RESET.to_vec())?;
        terminal.enter(OptionalActions::Drain)?;
        Ok(Box::new(terminal))
    }
}

fn filtered(to: impl Write + Send + 'static, destination: Destination) -> Box<dyn Write + Send> {
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
