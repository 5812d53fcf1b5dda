//! What the emulator draws for each piece of the stream.

use unicode_width::UnicodeWidthChar as _;

use super::emulator::{Emulator, Position, Saved};
use super::modes::{Frame, Region, Setting};
use super::screens::Screen;
use super::sgr::write_attributes;
use super::tokens::{Csi, Token};

/// The parser gets what is drawn in pieces of this size.
const PIECE: usize = 4096;
/// Makes the character before it two cells wide. At the end of the last row the parser then
/// leaves half a character behind, on which it panics later.
const EMOJI: char = '\u{fe0f}';

impl Emulator {
    /// Draws a piece of the stream, or records it.
    pub(super) fn take(&mut self, token: &Token<'_>) {
        match token {
            Token::Text(c) => self.text(*c),
            Token::Control(byte) => self.control(*byte),
            Token::Escape(body) => self.escape(body),
            Token::Csi(csi) => self.csi(csi),
        }
        let screen = self.screen;
        self.modes.record(token, screen);
        if self.pending.len() >= PIECE {
            self.flush();
        }
    }

    /// Draws a character.
    fn text(&mut self, c: char) {
        let c = self.modes.charsets.shown(c);
        if c == EMOJI && self.next_position().column >= self.size.columns {
            return;
        }
        if self.modes.insert || !self.modes.wraps() {
            self.make_room(c);
        }
        let mut bytes = [0; 4];
        let bytes = c.encode_utf8(&mut bytes).as_bytes();
        self.pending.extend_from_slice(bytes);
    }

    /// Does what the parser does not before a character: moves the rest of the row, or keeps
    /// the character in the row.
    fn make_room(&mut self, c: char) {
        let width = u16::try_from(c.width().unwrap_or(1)).unwrap_or(1).min(2);
        let Position { column, .. } = self.next_position();
        let is_full = column + width > self.size.columns;
        if width == 0 {
            return;
        }
        if is_full && !self.modes.wraps() {
            self.draw_csi(self.size.columns - width + 1, b'G');
        }
        if is_full && self.modes.wraps() {
            self.draw(b"\r\n");
        }
        if self.modes.insert {
            self.draw_csi(width, b'@');
        }
    }

    fn control(&mut self, byte: u8) {
        match byte {
            0x08 => {
                self.leave_end_of_row();
                self.draw(b"\x08");
            }
            0x09 => self.tab(1),
            0x0a..=0x0c => {
                if self.modes.newline {
                    self.draw(b"\r");
                }
                self.draw(b"\n");
            }
            0x0d => self.draw(b"\r"),
            _ => {}
        }
    }

    fn tab(&mut self, count: u16) {
        let column = self.position().column;
        let column = self.tabs.after(column, count);
        self.draw_csi(column + 1, b'G');
    }

    fn escape(&mut self, body: &[u8]) {
        match body {
            b"7" => self.save_cursor(),
            b"8" => self.restore_cursor(),
            b"D" => self.draw(b"\n"),
            b"E" => self.draw(b"\r\n"),
            b"M" => self.draw(b"\x1bM"),
            b"H" => {
                let column = self.position().column;
                self.tabs.set(column);
            }
            b"c" => self.reset(),
            b"#8" => self.draw_alignment(),
            _ => {}
        }
    }

    fn draw_alignment(&mut self) {
        self.set_region(None);
        for row in 0..self.size.rows {
            self.move_to(Position { row, column: 0 });
            self.draw(&vec![b'E'; usize::from(self.size.columns)]);
        }
        self.draw(b"\x1b[H");
    }

    fn csi(&mut self, csi: &Csi<'_>) {
        match csi.kind() {
            [b'?', 0, last @ (b'h' | b'l')] => {
                for number in csi.numbers().flatten() {
                    self.private_mode(number, Setting::of(last));
                }
            }
            [b'?', 0, last @ (b'J' | b'K')] => self.draw_csi(csi.number(0), last),
            [0, b'!', b'p'] => self.soft_reset(),
            [0, 0, b'm'] => write_attributes(csi.parameters, &mut self.pending),
            [0, 0, last] => self.plain_csi(csi, last),
            _ => {}
        }
    }

    fn plain_csi(&mut self, csi: &Csi<'_>, last: u8) {
        match last {
            b'A'..=b'D' | b'@' | b'P' | b'X' => {
                self.leave_end_of_row();
                self.draw_csi(csi.number_or(0, 1), last);
            }
            b'a' | b'e' => {
                self.leave_end_of_row();
                let last = if last == b'a' { b'C' } else { b'B' };
                self.draw_csi(csi.number_or(0, 1), last);
            }
            b'E' | b'F' | b'G' | b'L' | b'M' | b'S' | b'`' => {
                self.draw_csi(csi.number_or(0, 1), last);
            }
            // With more parameters it is a mouse's.
            b'T' if csi.numbers().count() == 1 => self.draw_csi(csi.number_or(0, 1), last),
            b'J' | b'K' => self.draw_csi(csi.number(0), last),
            b'H' | b'f' => {
                let [row, column] = [csi.number_or(0, 1), csi.number_or(1, 1)];
                self.draw(format!("\x1b[{row};{column}H").as_bytes());
            }
            b'd' => {
                let column = self.position().column + 1;
                let row = csi.number_or(0, 1);
                self.draw(format!("\x1b[{row};{column}H").as_bytes());
            }
            b'I' => self.tab(csi.number_or(0, 1)),
            b'Z' => {
                let column = self.position().column;
                let column = self.tabs.before(column, csi.number_or(0, 1));
                self.draw_csi(column + 1, b'G');
            }
            b'g' => match csi.number(0) {
                0 => {
                    let column = self.position().column;
                    self.tabs.clear(column);
                }
                3 => self.tabs.clear_all(),
                _ => {}
            },
            b'b' => self.repeat(csi.number_or(0, 1)),
            b'r' => {
                let end = self.size.rows;
                match Region::of(csi, end) {
                    Some(Region { first: 1, last }) if last == end => self.set_region(None),
                    Some(region) => self.set_region(Some(region)),
                    None => {}
                }
            }
            b's' if !self.modes.has_column_margins() => self.save_cursor(),
            b'u' => self.restore_cursor(),
            _ => {}
        }
    }

    /// Repeats the last character, at most once for each cell: more would cost time alone.
    fn repeat(&mut self, count: u16) {
        let cells = u32::from(self.size.columns) * u32::from(self.size.rows);
        let count = u16::try_from(cells).unwrap_or(u16::MAX).min(count);
        self.draw_csi(count, b'b');
    }

    fn set_region(&mut self, region: Option<Region>) {
        self.modes.frame.rows = region;
        self.draw_frame();
        self.draw(b"\x1b[H");
    }

    /// Gives the parser's grid the margins and the origin mode that are in force. The cursor
    /// moves.
    fn draw_frame(&mut self) {
        let frame = self.modes.frame;
        match frame.rows {
            Some(Region { first, last }) => {
                self.draw(format!("\x1b[{first};{last}r").as_bytes());
            }
            None => self.draw(b"\x1b[r"),
        }
        self.draw(if frame.origin {
            b"\x1b[?6h"
        } else {
            b"\x1b[?6l"
        });
        self.side().frame = frame;
    }

    fn private_mode(&mut self, number: u16, setting: Setting) {
        match (number, setting, self.screen) {
            (6, setting, _) => {
                self.modes.frame.origin = setting == Setting::Set;
                self.draw_frame();
                self.draw(b"\x1b[H");
            }
            (1048, Setting::Set, _) => self.save_cursor(),
            (1048, Setting::Reset, _) => self.restore_cursor(),
            (1049, Setting::Set, Screen::Normal) => {
                self.save_cursor();
                // The parser empties that grid.
                self.alternate.frame = Frame::default();
                self.enter_alternate(b"\x1b[?1049h");
            }
            (47 | 1047, Setting::Set, Screen::Normal) => self.enter_alternate(b"\x1b[?47h"),
            (47 | 1047, Setting::Reset, Screen::Alternate) => {
                let position = self.position();
                self.draw(b"\x1b[?47l");
                self.screen = Screen::Normal;
                self.follow_frame();
                self.move_to(position);
            }
            (1049, Setting::Reset, Screen::Alternate) => {
                self.draw(b"\x1b[?47l");
                self.screen = Screen::Normal;
                self.restore_cursor();
                self.follow_frame();
            }
            _ => {}
        }
    }

    /// Shows the alternate screen, with the cursor where it is.
    fn enter_alternate(&mut self, sequence: &[u8]) {
        let position = self.position();
        self.draw(sequence);
        self.screen = Screen::Alternate;
        self.follow_frame();
        self.move_to(position);
    }

    /// A terminal has one frame for both screens, the parser has one for each.
    fn follow_frame(&mut self) {
        let frame = self.modes.frame;
        if self.side().frame != frame {
            let position = self.position();
            self.draw_frame();
            self.move_to(position);
        }
    }

    fn save_cursor(&mut self) {
        self.draw(b"\x1b7");
        self.flush();
        let saved = Saved {
            attributes: self.drawn().attributes_formatted(),
            charsets: self.modes.charsets,
            origin: self.modes.frame.origin,
        };
        self.side().saved = Some(saved);
    }

    fn restore_cursor(&mut self) {
        let saved = self.side().saved.clone().unwrap_or_default();
        self.draw(b"\x1b8\x1b[m");
        self.draw(saved.attributes.as_bytes());
        self.modes.charsets = saved.charsets;
        self.modes.frame.origin = saved.origin;
        self.side().frame.origin = saved.origin;
    }

    fn soft_reset(&mut self) {
        let position = self.position();
        self.modes.frame = Frame::default();
        self.draw_frame();
        self.draw(b"\x1b[m\x1b[H\x1b7");
        self.move_to(position);
        self.side().saved = None;
    }

    /// A cursor that waits behind the last column for the next character is in the last column
    /// for whatever moves it. The parser counts one column more.
    fn leave_end_of_row(&mut self) {
        if self.next_position().column >= self.size.columns {
            self.draw_csi(self.size.columns, b'G');
        }
    }
}
