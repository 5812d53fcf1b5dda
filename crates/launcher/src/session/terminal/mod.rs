//! A command with the user's terminal: its keys go in, its screen comes out.
//!
//! The command has a pseudo terminal of the engine's, never the user's own (CON-24). What it
//! draws passes a [`Screen`] filter: text, cursor and colours, nothing that acts on anything
//! but the screen (UI-01). What is typed goes in as it is, Ctrl-C too.

mod keyboard;
mod raw;
mod screen;

pub(super) use keyboard::Keyboard;
pub use raw::Raw;
pub(super) use screen::Screen;

use lazaret_runtime::TerminalSize;

/// Returns columns and rows of the terminal on stdin; of one that does not know them, those
/// that most have.
pub fn size() -> TerminalSize {
    match rustix::termios::tcgetwinsize(std::io::stdin()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => TerminalSize {
            columns: size.ws_col,
            rows: size.ws_row,
        },
        _ => TerminalSize {
            columns: 80,
            rows: 24,
        },
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
