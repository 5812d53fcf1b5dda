//! `KeyMode`: the user's terminal while a question is open that one key answers.
//!
//! Keys are shown and Ctrl-C still interrupts; only Enter is not waited for (`man 3 termios`,
//! `ICANON`). A shell sets its own modes again, whatever SIGKILL left.

use std::io;

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

/// What Ctrl-D sends without `ICANON`.
pub(crate) const END: char = '\u{4}';

/// The terminal on stdin.
#[derive(Debug)]
#[must_use = "lines are read again when it is dropped"]
pub struct KeyMode {
    before: Termios,
}

impl KeyMode {
    /// Has keys read one by one; `None` where stdin is no terminal.
    pub fn enter() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut keys = before.clone();
        keys.local_modes -= LocalModes::ICANON;
        keys.special_codes[SpecialCodeIndex::VMIN] = 1;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        // What was typed before the question does not answer it.
        tcsetattr(io::stdin(), OptionalActions::Flush, &keys).ok()?;
        Some(Self { before })
    }
}

impl Drop for KeyMode {
    fn drop(&mut self) {
        // What was typed behind an answer is not for the shell.
        let _gone = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}
