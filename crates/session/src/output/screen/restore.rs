//! `restore`: writes a screen as bytes.

use std::num::NonZeroU16;

use super::charsets::{Charsets, REPLACEMENT, STAND_IN};
use super::emulator::{Emulator, Position, Saved};
use super::leave::LEAVE;
use super::modes::Frame;
use super::screens::Screen;
use super::sgr::write_cell;

/// Every character set is ASCII. DECSC saves the sets, so they are set before it and back.
const ASCII: &[u8] = b"\x1b(B\x1b)B\x1b*B\x1b+B\x0f";

/// Writes what brings a terminal to the screen of an emulator, from any state.
pub(super) fn restore(emulator: &Emulator) -> Vec<u8> {
    let mut out = LEAVE.to_vec();
    out.extend_from_slice(b"\x1b[?6l");
    emulator.tabs.write(&mut out);
    let shown = emulator.drawn();
    let keyboard = &emulator.modes.keyboard;
    if emulator.screen == Screen::Alternate {
        let normal = after(shown, b"\x1b[?47l");
        write_contents(&normal, &mut out);
        emulator
            .modes
            .keyboard
            .write_flags(Screen::Normal, &mut out);
        // `?1049h` saves the cursor, to which `?1049l` comes back.
        if let Some(saved) = emulator.saved(Screen::Normal) {
            write_saved(&normal, saved, &mut out);
        }
        out.extend_from_slice(b"\x1b[?1049h");
        out.extend_from_slice(ASCII);
    } else if keyboard.flags(Screen::Alternate) != 0 {
        out.extend_from_slice(b"\x1b[?1049h");
        keyboard.write_flags(Screen::Alternate, &mut out);
        out.extend_from_slice(b"\x1b[?1049l");
    }
    write_contents(shown, &mut out);
    if let Some(saved) = emulator.saved(emulator.screen) {
        write_saved(shown, saved, &mut out);
        out.extend_from_slice(b"\x1b7\x1b[?6l");
        out.extend_from_slice(ASCII);
    }
    emulator.modes.write_frame(&mut out);
    write_cursor(shown, emulator.modes.frame, &mut out);
    out.extend_from_slice(shown.attributes_formatted().as_bytes());
    emulator.modes.write(emulator.screen, &mut out);
    out
}

/// Writes the cells. The cursor moves.
fn write_contents(screen: &vt100::Screen, out: &mut Vec<u8>) {
    let contents = screen.contents_formatted();
    match contents.contains(STAND_IN) {
        true => out.extend(
            contents
                .replace(STAND_IN, REPLACEMENT.encode_utf8(&mut [0; 4]))
                .bytes(),
        ),
        false => out.extend(contents.bytes()),
    }
}

/// Returns the screen after one more sequence.
fn after(screen: &vt100::Screen, sequence: &[u8]) -> vt100::Screen {
    let mut parser = vt100::Parser::new(NonZeroU16::MIN, NonZeroU16::MIN, 0);
    *parser.screen_mut() = screen.clone();
    parser.process(sequence);
    parser.screen().clone()
}

/// Writes the state that `ESC 7` is to save.
fn write_saved(screen: &vt100::Screen, saved: &Saved, out: &mut Vec<u8>) {
    let restored = after(screen, b"\x1b8");
    if saved.origin {
        out.extend_from_slice(b"\x1b[?6h");
    }
    write_cursor(&restored, Frame::default(), out);
    out.extend_from_slice(b"\x1b[m");
    out.extend_from_slice(saved.attributes.as_bytes());
    if saved.charsets != Charsets::default() {
        saved.charsets.write(out);
    }
}

/// Moves the cursor to its place on a screen. Behind the last column it gets only by the
/// character that stands there.
fn write_cursor(screen: &vt100::Screen, frame: Frame, out: &mut Vec<u8>) {
    let (row, column) = screen.cursor_position();
    let columns = screen.size().1.get();
    let cell_at = |column| screen.cell(row, column);
    if column < columns {
        return write_move(Position { row, column }, frame, out);
    }
    let last = columns - 1;
    let is_second_half = cell_at(last).is_some_and(vt100::Cell::is_wide_continuation);
    let column = if is_second_half { last - 1 } else { last };
    write_move(Position { row, column }, frame, out);
    if let Some(cell) = cell_at(column).filter(|cell| cell.has_contents()) {
        write_cell(cell, out);
    }
}

fn write_move(position: Position, frame: Frame, out: &mut Vec<u8>) {
    let top = frame.top();
    let row = position.row.saturating_sub(top) + 1;
    out.extend_from_slice(format!("\x1b[{row};{}H", position.column + 1).as_bytes());
}
