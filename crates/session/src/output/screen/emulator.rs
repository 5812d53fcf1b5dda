//! `Emulator`: draws a filtered stream with the crate `vt100`.
//!
//! `vt100` knows the sequences that most programs draw with. This adapter does what it lacks by
//! those that it knows: character sets, insert mode, rows that do not wrap, tab stops, margins
//! and origin mode that both screens share, and relative positions. What a cell of `vt100`
//! cannot hold is lost: blink, strike-through, hidden, overline, kind and colour of an
//! underline, and bold where dim came later. Left and right margins are recorded, but not drawn
//! with.

use std::num::NonZeroU16;
use std::panic::{AssertUnwindSafe, catch_unwind};

use lazaret_runtime::TerminalSize;

use super::charsets::Charsets;
use super::modes::{Frame, Modes};
use super::screens::Screen;
use super::tabs::Tabs;

/// A cell, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Position {
    pub(super) row: u16,
    pub(super) column: u16,
}

/// What DECSC saved beside the position, which the emulator keeps.
#[derive(Debug, Clone, Default)]
pub(super) struct Saved {
    /// As a sequence.
    pub(super) attributes: String,
    pub(super) charsets: Charsets,
    pub(super) origin: bool,
}

/// What one screen has of its own.
#[derive(Debug, Clone, Default)]
pub(super) struct Side {
    pub(super) saved: Option<Saved>,
    /// Margins and origin mode that its grid in the parser has.
    pub(super) frame: Frame,
}

/// The emulator.
pub(super) struct Emulator {
    parser: vt100::Parser,
    /// What is drawn, on its way to the parser.
    pub(super) pending: Vec<u8>,
    pub(super) size: TerminalSize,
    pub(super) modes: Modes,
    pub(super) tabs: Tabs,
    pub(super) screen: Screen,
    normal: Side,
    pub(super) alternate: Side,
    panics: u32,
}

impl std::fmt::Debug for Emulator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Emulator")
            .field("size", &self.size)
            .field("screen", &self.screen)
            .field("modes", &self.modes)
            .finish_non_exhaustive()
    }
}

fn parser(size: TerminalSize) -> vt100::Parser {
    vt100::Parser::new(not_zero(size.rows), not_zero(size.columns), 0)
}

fn not_zero(cells: u16) -> NonZeroU16 {
    NonZeroU16::new(cells).unwrap_or(NonZeroU16::MIN)
}

impl Emulator {
    /// Makes an empty screen of at least 2 columns and 1 row.
    pub(super) fn new(size: TerminalSize) -> Self {
        Self {
            parser: parser(size),
            pending: Vec::new(),
            size,
            modes: Modes::default(),
            tabs: Tabs::new(size.columns),
            screen: Screen::default(),
            normal: Side::default(),
            alternate: Side::default(),
            panics: 0,
        }
    }

    /// Changes the size. Margins go, as in xterm.
    pub(super) fn resize(&mut self, size: TerminalSize) {
        if size == self.size {
            return;
        }
        self.flush();
        self.size = size;
        self.guarded(|parser| parser.set_size(not_zero(size.rows), not_zero(size.columns)));
        self.tabs.resize(size.columns);
        self.modes.frame.rows = None;
        self.normal.frame.rows = None;
        self.alternate.frame.rows = None;
    }

    /// Empties everything, as after power on.
    pub(super) fn reset(&mut self) {
        *self = Self {
            panics: self.panics,
            ..Self::new(self.size)
        };
    }

    /// Returns how often the parser panicked and the screen started empty again.
    pub(super) fn panics(&self) -> u32 {
        self.panics
    }

    /// Draws what is pending.
    pub(super) fn flush(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        self.guarded(|parser| parser.process(&pending));
        self.pending = pending;
        self.pending.clear();
    }

    /// Runs the parser. The command chooses what it reads, so a panic in it must not end the
    /// process that keeps the session.
    fn guarded(&mut self, run: impl FnOnce(&mut vt100::Parser)) {
        if catch_unwind(AssertUnwindSafe(|| run(&mut self.parser))).is_err() {
            self.parser = parser(self.size);
            self.panics = self.panics.saturating_add(1);
        }
    }

    /// Returns what the parser holds. Call [`Self::flush`] before.
    pub(super) fn drawn(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    /// Returns what was saved on a screen.
    pub(super) fn saved(&self, screen: Screen) -> Option<&Saved> {
        match screen {
            Screen::Normal => self.normal.saved.as_ref(),
            Screen::Alternate => self.alternate.saved.as_ref(),
        }
    }

    /// Returns where the cursor is shown.
    pub(super) fn position(&mut self) -> Position {
        let mut position = self.next_position();
        position.column = position.column.min(self.size.columns - 1);
        position
    }

    /// Returns where the next character goes; behind the last column it wraps.
    pub(super) fn next_position(&mut self) -> Position {
        self.flush();
        let (row, column) = self.drawn().cursor_position();
        Position { row, column }
    }

    pub(super) fn side(&mut self) -> &mut Side {
        match self.screen {
            Screen::Normal => &mut self.normal,
            Screen::Alternate => &mut self.alternate,
        }
    }

    pub(super) fn draw(&mut self, sequence: &[u8]) {
        self.pending.extend_from_slice(sequence);
    }

    pub(super) fn draw_csi(&mut self, parameter: u16, last: u8) {
        self.draw(format!("\x1b[{parameter}{}", char::from(last)).as_bytes());
    }

    pub(super) fn move_to(&mut self, position: Position) {
        let top = self.modes.frame.top();
        let row = position.row.saturating_sub(top) + 1;
        self.draw(format!("\x1b[{row};{}H", position.column + 1).as_bytes());
    }
}
