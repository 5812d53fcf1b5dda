//! The terminal that indicatif draws on: our own stderr stream, not the process's.

mod command_io;
pub mod key_mode;
mod raw_mode;
pub mod review_console;
mod sanitize;
pub mod user_terminal;

pub use command_io::{Destination, TerminalIo, filtered};
pub use raw_mode::RawMode;
pub use sanitize::TextSanitizer;

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};

use indicatif::TermLike;

use super::{Sink, locked};

/// Writes control sequences (ECMA-48) to the stream of the [`super::Ui`].
pub(super) struct Terminal {
    pub(super) sink: Arc<Mutex<Sink>>,
    pub(super) width: u16,
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal").finish_non_exhaustive()
    }
}

impl Terminal {
    fn write(&self, text: &str) -> io::Result<()> {
        locked(&self.sink).write(text.as_bytes());
        Ok(())
    }

    fn move_cursor(&self, n: usize, direction: char) -> io::Result<()> {
        // A count of 0 would move by 1.
        if n == 0 {
            return Ok(());
        }
        self.write(&format!("\u{1b}[{n}{direction}"))
    }
}

impl TermLike for Terminal {
    fn width(&self) -> u16 {
        self.width
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write(&format!("{text}\n"))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.write(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.write("\r\u{1b}[2K")
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// The terminals that a Debian base knows (`ncurses-base`); others draw as the last one does.
const KNOWN: &[&str] = &[
    "linux",
    "screen",
    "screen-256color",
    "tmux",
    "tmux-256color",
    "vt100",
    "xterm",
    "xterm-256color",
];

/// Returns the value of `TERM` inside for the user's own.
pub fn term(own: &str) -> &'static str {
    let known = KNOWN.iter().find(|known| **known == own);
    known.unwrap_or(&"xterm-256color")
}
