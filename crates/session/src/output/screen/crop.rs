//! `crop`: draws the part of a screen that fits on a terminal of another size.

use lazaret_runtime::TerminalSize;

use super::charsets::{REPLACEMENT, STAND_IN};
use super::emulator::Emulator;
use super::leave::LEAVE;
use super::modes::Setting;

/// The mode in which the cursor is shown (DECTCEM).
const CURSOR: u16 = 25;

/// Writes what shows a part of a screen on a terminal of `size`, from any state: the leftmost
/// columns, and of the rows the first ones, or those that end with the cursor's. No mode of the
/// command's is set: who sees a part of its screen does not type.
pub(super) fn crop(emulator: &Emulator, size: TerminalSize) -> Vec<u8> {
    let screen = emulator.drawn();
    let columns = screen.size().1.get().min(size.columns.max(1));
    let (cursor_row, column) = screen.cursor_position();
    let is_shown = emulator.modes.setting(CURSOR) != Some(Setting::Reset);
    let first = match is_shown {
        true => (cursor_row + 1).saturating_sub(size.rows),
        false => 0,
    };
    let mut out = LEAVE.to_vec();
    // At once, and without a line that wraps.
    out.extend_from_slice(b"\x1b[?2026h\x1b[?7l\x1b[?25l");
    let whole = screen.rows_formatted(0, columns);
    let shorter = screen.rows_formatted(0, columns - 1);
    let rows = whole.zip(shorter).skip(usize::from(first));
    let mut row = 0;
    for (whole, shorter) in rows.take(usize::from(size.rows)) {
        let last = screen.cell(first + row, columns - 1);
        row += 1;
        let contents = match last.is_some_and(vt100::Cell::is_wide) {
            // Half of it is outside.
            true => shorter,
            false => whole,
        };
        out.extend_from_slice(format!("\x1b[{row};1H\x1b[m\x1b[2K").as_bytes());
        let replaced = contents.replace(STAND_IN, REPLACEMENT.encode_utf8(&mut [0; 4]));
        out.extend_from_slice(replaced.as_bytes());
    }
    if row < size.rows {
        out.extend_from_slice(format!("\x1b[{};1H\x1b[m\x1b[J", row + 1).as_bytes());
    }
    out.extend_from_slice(b"\x1b[m\x1b[?7h");
    if column < columns && is_shown {
        let (row, column) = (cursor_row - first + 1, column + 1);
        out.extend_from_slice(format!("\x1b[{row};{column}H\x1b[?25h").as_bytes());
    }
    out.extend_from_slice(b"\x1b[?2026l");
    out
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use super::super::ScreenState;
    use super::*;

    const SIZE: TerminalSize = TerminalSize {
        columns: 10,
        rows: 3,
    };

    /// What a terminal of this size shows, one that showed something else before.
    fn shown(fed: &str, columns: u16, rows: u16) -> (String, (u16, u16), bool) {
        let mut state = ScreenState::new(SIZE);
        state.feed(fed.as_bytes());
        let cells = |count| NonZeroU16::new(count).expect("not zero");
        let mut terminal = vt100::Parser::new(cells(rows), cells(columns), 0);
        terminal.process(b"\x1b[?1049h\x1b[2;2r\x1b[?6h\x1b[31mbefore\r\nbefore\r\nbefore");
        terminal.process(&state.crop(TerminalSize { columns, rows }));
        let screen = terminal.screen();
        let is_reset = !screen.alternate_screen() && !screen.application_cursor();
        assert!(is_reset && !screen.bracketed_paste());
        (
            screen.contents(),
            screen.cursor_position(),
            screen.hide_cursor(),
        )
    }

    #[test]
    fn a_smaller_terminal_shows_the_left_part() {
        let fed = "0123456789abc\r\nsecond\x1b[1;4H";
        assert_eq!(shown(fed, 4, 2), ("0123\nabc".to_owned(), (0, 3), false));
        assert_eq!(shown(fed, 3, 9).0, "012\nabc\nsec");
        // The cursor is outside.
        assert!(shown(fed, 3, 2).2);
    }

    #[test]
    fn a_lower_terminal_shows_the_rows_down_to_the_cursor() {
        let fed = "one\r\ntwo\r\nthree";
        assert_eq!(shown(fed, 8, 2), ("two\nthree".to_owned(), (1, 5), false));
        assert_eq!(shown(fed, 8, 1), ("three".to_owned(), (0, 5), false));
        // Nothing tells which rows matter.
        let hidden = format!("{fed}\x1b[?25l");
        assert_eq!(shown(&hidden, 8, 2).0, "one\ntwo");
    }

    #[test]
    fn a_larger_terminal_shows_nothing_else() {
        let fed = "0123456789abc\r\nsecond";
        let found = shown(fed, 40, 12);
        assert_eq!(found, ("0123456789\nabc\nsecond".to_owned(), (2, 6), false));
    }

    #[test]
    fn modes_of_the_command_stay_with_the_one_who_types() {
        let fed = "\x1b[?1049h\x1b[?1;2004;1000;1006h\x1b[?25lfull";
        let (text, _, is_hidden) = shown(fed, 6, 2);
        assert_eq!((&*text, is_hidden), ("full", true));
    }

    #[test]
    fn a_character_of_two_cells_is_not_cut_into_the_next_row() {
        assert_eq!(shown("abc\u{4e16}\u{754c}", 6, 1).0, "abc\u{4e16}");
        assert_eq!(shown("\x1b[41mabcdef\x1b[m\r\nx", 6, 2).0, "abcdef\nx");
    }
}
