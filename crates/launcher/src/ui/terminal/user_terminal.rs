//! `UserTerminal`: the terminal on stdin, what is typed there and how large it is.

use std::io;

use lazaret_runtime::TerminalSize;
use lazaret_session::output::command_input::Typed;
use rustix::termios::{tcgetattr, tcgetwinsize};

/// The terminal on stdin.
#[derive(Debug)]
pub struct UserTerminal {
    size: TerminalSize,
}

impl UserTerminal {
    /// Reads it from now on; reads return after a tenth of a second.
    pub fn new() -> Self {
        Self { size: size() }
    }

    /// Waits for what comes next, for a tenth of a second.
    pub fn read(&mut self) -> Typed {
        let now = size();
        if now != self.size {
            self.size = now;
            return Typed::Resize(now);
        }
        let mut buffer = [0; 4096];
        match rustix::io::read(io::stdin(), &mut buffer) {
            // Of a terminal that is gone nothing can be asked.
            Ok(0) if tcgetattr(io::stdin()).is_err() => Typed::Gone,
            Ok(0) | Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Typed::Nothing,
            Ok(count) => Typed::Keys(buffer.get(..count).unwrap_or_default().to_vec()),
            Err(_) => Typed::Gone,
        }
    }
}

impl Default for UserTerminal {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns columns and rows of the terminal on stdin; of one that does not know them, those
/// that most have.
pub fn size() -> TerminalSize {
    match tcgetwinsize(io::stdin()) {
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
