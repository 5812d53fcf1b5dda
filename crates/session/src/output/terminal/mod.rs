//! A command with the user's terminal: its keys go in, its screen comes out.
//!
//! The command has a pseudo terminal of the engine's, never the user's own (CON-24). What it
//! draws passes a filter of the one who shows it: text, cursor and colours, nothing that acts on anything
//! but the screen (UI-01). What is typed goes in as it is, Ctrl-C too.

mod input;

pub(crate) use input::TerminalInput;
pub use input::{CommandInput, Typed, UserTerminal};

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
