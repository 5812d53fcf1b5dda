//! `RawMode`: the user's terminal while a command or a review has it.
//!
//! It is given back in every case but SIGKILL: when the command or the review ends, on a panic
//! before its message is printed, and on SIGTERM and SIGHUP, which unwind through [`Drop`].

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::termios::{OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

use crate::panic::Hook;
use crate::ui::{Output, Ui, UiWriter};
use lazaret_session::output::screen::LEAVE;

/// The terminal on stdin, and the stream that leads to the same one.
#[derive(Debug)]
#[must_use = "the terminal is given back when it is dropped"]
pub struct RawMode {
    writer: UiWriter,
    cooked: Termios,
    /// Whether the terminal is in raw mode now. Giving it back twice would put the cursor where
    /// it was before the first time, on top of the message of a panic.
    is_raw: Arc<AtomicBool>,
    _hook: Hook,
}

impl RawMode {
    /// Prepares to take the terminal. [`LEAVE`] is written to `output` when it is given back.
    ///
    /// # Errors
    /// When stdin is no terminal.
    pub fn prepare(ui: &Ui, output: Output) -> io::Result<Self> {
        let cooked = tcgetattr(io::stdin())?;
        let is_raw = Arc::new(AtomicBool::new(false));
        let hook = {
            let (is_raw, cooked) = (Arc::clone(&is_raw), cooked.clone());
            Hook::install(move || {
                // Not through the `Ui`: the panic may have come while it was locked.
                if is_raw.swap(false, Ordering::SeqCst) {
                    match output {
                        Output::Stdout => give_back(&mut io::stdout(), &cooked),
                        Output::Stderr => give_back(&mut io::stderr(), &cooked),
                    }
                }
            })
        };
        Ok(Self {
            writer: ui.writer(output),
            cooked,
            is_raw,
            _hook: hook,
        })
    }

    /// Takes the terminal. Reads from it return after a tenth of a second, with or without
    /// input.
    ///
    /// # Errors
    /// When the terminal refuses.
    pub fn enter(&mut self, actions: OptionalActions) -> io::Result<()> {
        let mut raw = self.cooked.clone();
        raw.make_raw();
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = 1;
        self.is_raw.store(true, Ordering::SeqCst);
        let entered = tcsetattr(io::stdin(), actions, &raw);
        if entered.is_err() {
            self.is_raw.store(false, Ordering::SeqCst);
        }
        Ok(entered?)
    }

    /// Gives the terminal back, if it was taken.
    pub fn leave(&mut self) {
        if self.is_raw.swap(false, Ordering::SeqCst) {
            give_back(&mut self.writer, &self.cooked);
        }
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Gives the terminal back. One that is gone can't be given back, and needs not be.
fn give_back(writer: &mut dyn Write, cooked: &Termios) {
    drop(writer.write_all(LEAVE).and_then(|()| writer.flush()));
    // What was typed for the command or the review is not for the shell.
    let _gone = tcsetattr(io::stdin(), OptionalActions::Flush, cooked);
}
