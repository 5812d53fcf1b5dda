//! `RawMode`: the user's terminal while a command has it.
//!
//! It is given back in every case but SIGKILL: when the command ends, on a panic before its
//! message is printed, and on SIGTERM and SIGHUP, which unwind through [`Drop`].

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::termios::{OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

use crate::panic::Hook;
use crate::ui::UiWriter;

/// What a program may have left behind: modes of the keyboard (kitty, xterm), mouse, focus,
/// paste, scrolling, the other screen, characters, colours, a cursor that is not shown. The
/// margins and the screen take the cursor along, so its place is saved before.
const RESET: &[u8] = b"\x1b[<99u\x1b[>4;0m\x1b[?1000;1002;1003;1004;1006;2004l\x1b[?1l\x1b>\
    \x1b[?2026l\x1b7\x1b[r\x1b8\x1b7\x1b[?1049l\x1b[?7h\x1b(B\x0f\x1b[0 q\x1b[0m\x1b[?25h";

/// The terminal while a command has it.
#[derive(Debug)]
#[must_use = "the terminal is given back when it is dropped"]
pub struct RawMode {
    writer: UiWriter,
    cooked: Termios,
    taken: Arc<AtomicBool>,
    _hook: Hook,
}

impl RawMode {
    /// Takes the terminal on stdin; `writer` leads to the same one.
    ///
    /// # Errors
    /// When stdin is no terminal, or refuses.
    pub fn take(writer: UiWriter) -> io::Result<Self> {
        let cooked = tcgetattr(io::stdin())?;
        let mut raw = cooked.clone();
        raw.make_raw();
        // A read waits a tenth of a second, and then brings nothing.
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = 1;
        let taken = Arc::new(AtomicBool::new(true));
        let hook = {
            let (taken, cooked) = (Arc::clone(&taken), cooked.clone());
            Hook::install(move || {
                // Not through the `Ui`: the panic may have come while it was locked.
                if taken.swap(false, Ordering::SeqCst) {
                    give_back(&mut io::stdout(), &cooked);
                }
            })
        };
        tcsetattr(io::stdin(), OptionalActions::Drain, &raw)?;
        Ok(Self {
            writer,
            cooked,
            taken,
            _hook: hook,
        })
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        if self.taken.swap(false, Ordering::SeqCst) {
            give_back(&mut self.writer, &self.cooked);
        }
    }
}

/// Gives the terminal back. One that is gone can't be given back, and needs not be.
fn give_back(writer: &mut dyn Write, cooked: &Termios) {
    drop(writer.write_all(RESET).and_then(|()| writer.flush()));
    // What was typed for the command, or answered to it, is not for the shell.
    let _gone = tcsetattr(io::stdin(), OptionalActions::Flush, cooked);
}
