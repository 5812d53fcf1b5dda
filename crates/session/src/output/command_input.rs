//! `CommandInput`: what is typed, on its way to the command, and the size of the screen.
//!
//! The command has a pseudo terminal of the engine's, never the user's own (CON-24). What is
//! typed goes in as it is, Ctrl-C too.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use lazaret_runtime::{ProcessControl, TerminalSize};

/// What comes from the user's side of a command's terminal, or of its stdin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    /// Keys, or bytes of stdin.
    Keys(Vec<u8>),
    /// The screen has another size.
    Resize(TerminalSize),
    /// Nothing for a tenth of a second.
    Nothing,
    /// Nothing will come any more.
    Gone,
}

/// Where keys come from.
pub trait CommandInput: Send {
    /// Waits for what comes next, for a tenth of a second.
    fn next(&mut self) -> Typed;
}

/// Carries keys to a command.
pub(crate) struct TerminalInput<'a> {
    /// Where they come from.
    pub(crate) from: Box<dyn CommandInput>,
    /// The command's stdin.
    pub(crate) to: Box<dyn Write + Send>,
    /// Resizes its terminal.
    pub(crate) control: &'a dyn ProcessControl,
    /// Set when the command has ended.
    pub(crate) over: &'a AtomicBool,
    /// Done when nothing came: what was held back is shown.
    pub(crate) beat: &'a (dyn Fn() + Sync),
}

impl TerminalInput<'_> {
    /// Carries keys until the command has ended or the terminal is gone.
    pub(crate) fn run(mut self) {
        while !self.over.load(Ordering::SeqCst) {
            let keys = match self.from.next() {
                Typed::Nothing => {
                    (self.beat)();
                    continue;
                }
                Typed::Resize(size) => {
                    // One that has just ended has no terminal any more.
                    let _ended = self.control.resize(size);
                    continue;
                }
                Typed::Gone => return,
                Typed::Keys(keys) => keys,
            };
            let passed = self.to.write_all(&keys).and_then(|()| self.to.flush());
            if passed.is_err() {
                return;
            }
        }
    }
}
