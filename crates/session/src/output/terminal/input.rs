//! `TerminalInput`: what is typed, on its way to the command, and the size of the screen.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use lazaret_runtime::{ProcessControl, TerminalSize};
use rustix::termios::tcgetattr;

/// Ctrl-]: typed three times in a row it is the user's word to lazaret, not to the command.
const ESCAPE: u8 = 0x1d;
const TIMES: usize = 3;

/// What a tenth of a second brings, again and again.
pub(crate) struct TerminalInput<'a> {
    /// The command's stdin.
    pub(crate) to: Box<dyn Write + Send>,
    /// Resizes its terminal.
    pub(crate) control: &'a dyn ProcessControl,
    /// The size that it has.
    pub(crate) size: TerminalSize,
    /// Set when the command has ended.
    pub(crate) over: &'a AtomicBool,
    /// Done at each beat: what was held back is shown.
    pub(crate) beat: &'a (dyn Fn() + Sync),
    /// Done when the user wants an end that the command does not give.
    pub(crate) insist: &'a (dyn Fn() + Sync),
}

impl TerminalInput<'_> {
    /// Carries keys until the command has ended or the terminal is gone.
    pub(crate) fn run(mut self) {
        let mut buffer = [0; 4096];
        let mut escapes = Escapes::default();
        while !self.over.load(Ordering::SeqCst) {
            let now = super::size();
            if now != self.size {
                self.size = now;
                // One that has just ended has no terminal any more.
                let _ended = self.control.resize(now);
            }
            match rustix::io::read(io::stdin(), &mut buffer) {
                // Of a terminal that is gone nothing can be asked.
                Ok(0) if tcgetattr(io::stdin()).is_err() => return,
                Ok(0) | Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => (self.beat)(),
                Ok(count) => {
                    let keys = &buffer[..count];
                    if escapes.hears(keys) {
                        (self.insist)();
                    }
                    if self
                        .to
                        .write_all(keys)
                        .and_then(|()| self.to.flush())
                        .is_err()
                    {
                        return;
                    }
                }
                Err(_) => return,
            }
        }
    }
}

/// Counts the keys by which the user speaks to lazaret.
#[derive(Debug, Default)]
struct Escapes(usize);

impl Escapes {
    /// Whether the word is complete with these keys.
    fn hears(&mut self, keys: &[u8]) -> bool {
        let mut heard = false;
        for &key in keys {
            self.0 = match key == ESCAPE {
                true => self.0 + 1,
                false => 0,
            };
            if self.0 == TIMES {
                heard = true;
                self.0 = 0;
            }
        }
        heard
    }
}

#[cfg(test)]
mod tests {
    use super::Escapes;

    #[test]
    fn three_in_a_row_are_for_lazaret() {
        let hears = |parts: &[&[u8]]| {
            let mut escapes = Escapes::default();
            parts.iter().any(|part| escapes.hears(part))
        };
        assert!(hears(&[b"\x1d\x1d\x1d"]));
        assert!(hears(&[b"ab\x1d", b"\x1d", b"\x1dcd"]));
        assert!(!hears(&[b"\x1d\x1dx\x1d", b"\x03\x03\x03"]));
    }
}
