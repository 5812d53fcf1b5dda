//! The user's terminal while a session's command draws on it.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use lazaret_runtime::TerminalSize;
use lazaret_session::keeper::connection::Connection;
use lazaret_session::keeper::frame::{Channel, Frame, Kind};
use lazaret_session::keeper::message::Size;
use lazaret_session::output::command_input::Typed;
use rustix::termios::OptionalActions;

use super::keys::{DetachKeys, KeyAction, PrefixKey};
use crate::ui::terminal::RawMode;
use crate::ui::terminal::user_terminal::{UserTerminal, size};
use crate::ui::{Output, Ui};

/// The terminal in raw mode; it is given back when this is dropped.
#[derive(Debug)]
#[must_use = "the terminal is given back when it is dropped"]
pub(super) struct Terminal {
    _raw: RawMode,
}

impl Terminal {
    /// Takes it.
    ///
    /// # Errors
    /// When stdin is no terminal.
    pub(super) fn take(ui: &Ui) -> io::Result<Self> {
        let mut raw = RawMode::prepare(ui, Output::Stdout)?;
        raw.enter(OptionalActions::Drain)?;
        Ok(Self { _raw: raw })
    }
}

/// Why keys are no longer read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypingEnd {
    /// The user left.
    Detached,
    /// The connection or the terminal is gone.
    Over,
}

/// What the user types, on its way to the command.
pub(super) struct Driven<'a> {
    pub(super) connection: &'a Connection,
    /// Whether this client drives.
    pub(super) drives: AtomicBool,
    /// The key before each command to lazaret.
    pub(super) prefix: PrefixKey,
    /// Set when the command has ended.
    pub(super) over: AtomicBool,
}

impl Driven<'_> {
    /// Reads keys until the user leaves, or the connection is gone.
    pub(super) fn type_in(&self) -> TypingEnd {
        let mut terminal = UserTerminal::new();
        let mut keys = DetachKeys::with_prefix(self.prefix);
        while !self.over.load(Ordering::SeqCst) {
            let heard = match terminal.read() {
                Typed::Keys(bytes) => keys.read(&bytes),
                Typed::Nothing => keys.flush(),
                Typed::Resize(size) => match self.resized(size) {
                    Ok(()) => continue,
                    Err(_) => return TypingEnd::Over,
                },
                Typed::Gone => return TypingEnd::Over,
            };
            for key in heard {
                let sent = match key {
                    KeyAction::Forward(bytes) => self.forward(&bytes),
                    KeyAction::Take => self.take(),
                    KeyAction::Detach => {
                        self.connection.leave();
                        return TypingEnd::Detached;
                    }
                    KeyAction::End => self.send(Ok(Frame::new(Kind::Signal, Vec::new()))),
                };
                if sent.is_err() {
                    return TypingEnd::Over;
                }
            }
        }
        TypingEnd::Over
    }

    /// Sends keys, if this client drives.
    fn forward(&self, bytes: &[u8]) -> io::Result<()> {
        if !self.drives.load(Ordering::SeqCst) {
            return Ok(());
        }
        Frame::data(Channel::Stdin, bytes).try_for_each(|frame| self.connection.send(&frame))
    }

    fn take(&self) -> io::Result<()> {
        self.drives.store(true, Ordering::SeqCst);
        self.connection.send(&Frame::new(Kind::Take, Vec::new()))?;
        self.resized(size())
    }

    /// Says that the terminal has another size: who looks on is drawn for.
    fn resized(&self, size: TerminalSize) -> io::Result<()> {
        self.connection
            .send(&Frame::json(Kind::Resize, &Size::from(size))?)
    }

    fn send(&self, frame: io::Result<Frame>) -> io::Result<()> {
        if !self.drives.load(Ordering::SeqCst) {
            return Ok(());
        }
        self.connection.send(&frame?)
    }
}
