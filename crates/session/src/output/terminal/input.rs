//! `CommandInput`: what is typed, on its way to the command, and the size of the screen.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use lazaret_runtime::{ProcessControl, TerminalSize};
use rustix::termios::tcgetattr;

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

/// The terminal on stdin.
#[derive(Debug)]
pub struct UserTerminal {
    size: TerminalSize,
}

impl UserTerminal {
    /// Reads it from now on; reads return after a tenth of a second.
    pub fn new() -> Self {
        Self {
            size: super::size(),
        }
    }
}

impl Default for UserTerminal {
    fn default() -> Self {
        Self::new()
    }
}

impl CommandInput for UserTerminal {
    fn next(&mut self) -> Typed {
        let now = super::size();
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
