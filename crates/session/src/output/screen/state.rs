//! `ScreenState`: the screen of a command, for clients that attach later.

use std::panic::{AssertUnwindSafe, catch_unwind};

use lazaret_runtime::TerminalSize;

use super::crop::crop;
use super::emulator::Emulator;
use super::leave::LEAVE;
use super::replies::Replies;
use super::restore::restore;
use super::tokens::Tokens;

/// A character of two cells must fit, else `vt100` panics.
const FEWEST_COLUMNS: u16 = 2;
/// No terminal is as large; a cell takes 32 bytes on each of two screens.
const MOST_CELLS: u16 = 2048;
/// 16 MiB for both screens.
const MOST_ON_SCREEN: u32 = 256 * 1024;

/// What a terminal would show that saw all that was fed.
///
/// Memory is bounded by the size, at most 16 MiB, and needs 64 bytes for each cell; there is no
/// scrollback.
#[derive(Debug)]
pub struct ScreenState {
    tokens: Tokens,
    emulator: Emulator,
    replies: Replies,
}

impl ScreenState {
    /// Makes an empty screen. See [`Self::resize`] for the sizes.
    pub fn new(size: TerminalSize) -> Self {
        Self {
            tokens: Tokens::default(),
            emulator: Emulator::new(clamped(size)),
            replies: Replies::default(),
        }
    }

    /// Draws what passed a [`super::ScreenSanitizer`], however it is cut.
    pub fn feed(&mut self, filtered: &[u8]) {
        self.replies.clear();
        let (emulator, replies) = (&mut self.emulator, &mut self.replies);
        self.tokens.split(filtered, &mut |token| {
            emulator.take(&token);
            replies.hear(&token, emulator);
        });
        emulator.flush();
    }

    /// Returns what a terminal would have answered to the queries of the last chunk that was
    /// fed, at most 4 KiB. Write it to the command's stdin if no client drives; if one does,
    /// its terminal answers.
    pub fn take_replies(&mut self) -> Vec<u8> {
        self.replies.take()
    }

    /// Changes the size to the nearest one from 2 columns and 1 row to 262,144 cells, with at
    /// most 2048 columns or rows.
    pub fn resize(&mut self, size: TerminalSize) {
        self.emulator.resize(clamped(size));
    }

    /// Returns the size in force.
    pub fn size(&self) -> TerminalSize {
        self.emulator.size
    }

    /// Returns bytes that bring a terminal of this size to this screen, whatever it showed
    /// before: both screens, cursor, saved cursor, attributes and modes. A cell holds no
    /// blink, strike-through, hidden or overline, and of underlines one kind.
    ///
    /// At most 256 bytes for each cell and 32 KiB.
    pub fn restore(&self) -> Vec<u8> {
        // The command chooses what is written, see `Emulator::guarded`.
        let restored = catch_unwind(AssertUnwindSafe(|| restore(&self.emulator)));
        restored.unwrap_or_else(|_| LEAVE.to_vec())
    }

    /// Returns bytes that show the part of this screen that fits on a terminal of another size,
    /// whatever it showed before, and no mode that a command has set.
    ///
    /// At most 256 bytes for each cell and 32 KiB.
    pub fn crop(&self, size: TerminalSize) -> Vec<u8> {
        let cropped = catch_unwind(AssertUnwindSafe(|| crop(&self.emulator, size)));
        cropped.unwrap_or_else(|_| LEAVE.to_vec())
    }

    /// Returns how often the emulator failed and the screen started empty again.
    pub fn emulator_failures(&self) -> u32 {
        self.emulator.panics()
    }
}

fn clamped(size: TerminalSize) -> TerminalSize {
    let columns = size.columns.clamp(FEWEST_COLUMNS, MOST_CELLS);
    let fitting = u16::try_from(MOST_ON_SCREEN / u32::from(columns)).unwrap_or(MOST_CELLS);
    TerminalSize {
        columns,
        rows: size.rows.clamp(1, MOST_CELLS.min(fitting)),
    }
}
