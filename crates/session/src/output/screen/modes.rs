//! `Modes`: the ledger of what a program set and the emulator does not know.
//!
//! Every mode that passes the filter is recorded, except those that are no state to come back
//! to: `?3` and `?40` (132 columns) resize a window, and `?2026` (synchronized update) would
//! hold a restored screen back until the program ends its update.

use super::charsets::Charsets;
use super::keyboard::Keyboard;
use super::screens::Screen;
use super::tokens::{Csi, Token};

/// Modes of one terminal; no terminal knows as many.
const MOST_MODES: usize = 64;
/// Of these a terminal keeps the last one.
const MOUSE: [u16; 5] = [9, 1000, 1001, 1002, 1003];
/// Likewise.
const MOUSE_ENCODING: [u16; 4] = [1005, 1006, 1015, 1016];

/// A mode of `CSI ? NUMBER h` and `l`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setting {
    /// `h`
    Set,
    /// `l`
    Reset,
}

impl Setting {
    /// Returns the setting that the last byte of a sequence stands for.
    pub(super) fn of(last: u8) -> Self {
        match last {
            b'h' => Self::Set,
            _ => Self::Reset,
        }
    }

    fn last(self) -> char {
        match self {
            Self::Set => 'h',
            Self::Reset => 'l',
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Private {
    number: u16,
    setting: Setting,
}

/// First and last row or column of a region, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) first: u16,
    pub(super) last: u16,
}

/// Where text scrolls, and what the cursor's position counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Frame {
    /// Top and bottom margin; none is the whole screen.
    pub(super) rows: Option<Region>,
    /// Whether positions count from the top margin (DECOM).
    pub(super) origin: bool,
}

impl Frame {
    /// Returns the row, counted from 0, that positions count from.
    pub(super) fn top(&self) -> u16 {
        match self.rows {
            Some(rows) if self.origin => rows.first - 1,
            _ => 0,
        }
    }
}

/// The ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Modes {
    /// In the order in which they were set last.
    private: Vec<Private>,
    /// Whether new characters move the rest of the row (IRM).
    pub(super) insert: bool,
    /// Whether a line feed returns to the first column (LNM).
    pub(super) newline: bool,
    application_keypad: bool,
    cursor_shape: u16,
    columns: Option<Region>,
    pub(super) frame: Frame,
    pub(super) charsets: Charsets,
    pub(super) keyboard: Keyboard,
}

impl Modes {
    /// Records a piece of the stream, if it is a mode. Margins and origin mode are the
    /// emulator's to record, since they depend on the screen.
    pub(super) fn record(&mut self, token: &Token<'_>, screen: Screen) {
        match token {
            Token::Control(0x0e) => self.charsets.shift_out(),
            Token::Control(0x0f) => self.charsets.shift_in(),
            Token::Escape(b"=") => self.application_keypad = true,
            Token::Escape(b">") => self.application_keypad = false,
            Token::Escape(body) => self.charsets.escape(body),
            Token::Csi(csi) => self.csi(csi, screen),
            Token::Text(_) | Token::Control(_) => {}
        }
    }

    fn csi(&mut self, csi: &Csi<'_>, screen: Screen) {
        match csi.kind() {
            [b'?', 0, last @ (b'h' | b'l')] => {
                for number in csi.numbers().flatten() {
                    self.private(number, Setting::of(last));
                }
            }
            [0, 0, last @ (b'h' | b'l')] => {
                let is_set = Setting::of(last) == Setting::Set;
                for number in csi.numbers().flatten() {
                    match number {
                        4 => self.insert = is_set,
                        20 => self.newline = is_set,
                        _ => {}
                    }
                }
            }
            [0, b' ', b'q'] => self.cursor_shape = csi.number(0),
            [0, 0, b's'] if self.has_column_margins() => {
                self.columns = match Region::of(csi, u16::MAX) {
                    Some(region) if region.last < u16::MAX => Some(region),
                    _ => None,
                };
            }
            [0, b'!', b'p'] => self.soft_reset(screen),
            _ => self.keyboard.csi(csi, screen),
        }
    }

    fn private(&mut self, number: u16, setting: Setting) {
        if matches!(number, 3 | 6 | 40 | 47 | 1047..=1049 | 2026) {
            return;
        }
        let replaced = |other: u16| {
            let together = |group: &[u16]| group.contains(&number) && group.contains(&other);
            let is_one_of = together(&MOUSE) || together(&MOUSE_ENCODING);
            other == number || (setting == Setting::Set && is_one_of)
        };
        self.private.retain(|mode| !replaced(mode.number));
        if self.private.len() < MOST_MODES {
            self.private.push(Private { number, setting });
        }
    }

    /// DECSTR (VT220 programmer reference, table 4-10).
    fn soft_reset(&mut self, screen: Screen) {
        self.insert = false;
        self.application_keypad = false;
        self.charsets = Charsets::default();
        self.private(1, Setting::Reset);
        self.private(7, Setting::Set);
        self.private(25, Setting::Set);
        let all = Csi {
            private: b'<',
            parameters: b"99",
            intermediate: 0,
            last: b'u',
        };
        self.keyboard.csi(&all, screen);
    }

    /// Returns how a program set a private mode last.
    pub(super) fn setting(&self, number: u16) -> Option<Setting> {
        if number == 6 {
            return self.frame.origin.then_some(Setting::Set);
        }
        let mode = self.private.iter().find(|mode| mode.number == number);
        mode.map(|mode| mode.setting)
    }

    /// Whether text goes on in the next row at the end of a row (DECAWM).
    pub(super) fn wraps(&self) -> bool {
        self.setting(7) != Some(Setting::Reset)
    }

    /// Whether `CSI s` sets the left and right margins (DECLRMM).
    pub(super) fn has_column_margins(&self) -> bool {
        self.setting(69) == Some(Setting::Set)
    }

    /// Writes margins and origin mode. They move the cursor.
    pub(super) fn write_frame(&self, out: &mut Vec<u8>) {
        if let Some(Region { first, last }) = self.frame.rows {
            out.extend_from_slice(format!("\x1b[{first};{last}r").as_bytes());
        }
        if let (true, Some(Region { first, last })) = (self.has_column_margins(), self.columns) {
            out.extend_from_slice(format!("\x1b[?69h\x1b[{first};{last}s").as_bytes());
        }
        if self.frame.origin {
            out.extend_from_slice(b"\x1b[?6h");
        }
    }

    /// Writes everything else, for a terminal that shows `screen`. The cursor stays.
    pub(super) fn write(&self, screen: Screen, out: &mut Vec<u8>) {
        for Private { number, setting } in &self.private {
            out.extend_from_slice(format!("\x1b[?{number}{}", setting.last()).as_bytes());
        }
        if self.insert {
            out.extend_from_slice(b"\x1b[4h");
        }
        if self.newline {
            out.extend_from_slice(b"\x1b[20h");
        }
        if self.application_keypad {
            out.extend_from_slice(b"\x1b=");
        }
        if self.cursor_shape != 0 {
            out.extend_from_slice(format!("\x1b[{} q", self.cursor_shape).as_bytes());
        }
        self.charsets.write(out);
        self.keyboard.write_resources(out);
        self.keyboard.write_flags(screen, out);
    }
}

impl Region {
    /// Reads the two parameters of a region of a screen that ends at `end`. One that is empty
    /// or has a single row is none, as in xterm.
    pub(super) fn of(csi: &Csi<'_>, end: u16) -> Option<Self> {
        let first = csi.number_or(0, 1);
        let last = csi.number_or(1, end).min(end);
        (first < last).then_some(Self { first, last })
    }
}

#[cfg(test)]
mod tests {
    use super::super::screens::Screen;
    use super::super::tokens::Tokens;
    use super::Modes;

    fn ledger(stream: &str) -> String {
        let mut modes = Modes::default();
        Tokens::default().split(stream.as_bytes(), &mut |token| {
            modes.record(&token, Screen::Normal);
        });
        let mut out = Vec::new();
        modes.write_frame(&mut out);
        modes.write(Screen::Normal, &mut out);
        String::from_utf8(out).expect("text").replace('\x1b', "^")
    }

    #[test]
    fn what_was_set_last_is_what_is_written() {
        for (stream, written) in [
            ("text\x1b[1m\x1b[2J", ""),
            ("\x1b[?2004h\x1b[?1004h", "^[?2004h^[?1004h"),
            ("\x1b[?2004h\x1b[?2004l", "^[?2004l"),
            ("\x1b[?1000;1006h\x1b[?1002h", "^[?1006h^[?1002h"),
            ("\x1b[?1002h\x1b[?1000h\x1b[?1000l", "^[?1000l"),
            ("\x1b[?1049h\x1b[?2026h\x1b[?3h", ""),
            ("\x1b[4h\x1b[20h\x1b=\x1b[5 q", "^[4h^[20h^=^[5 q"),
            ("\x1b(0\x0e\x1b)0", "^(0^)0\x0e"),
            ("\x1b[>1u\x1b[>5u\x1b[<u\x1b[=8;2u", "^[>9u"),
            ("\x1b[=3u\x1b[>1u\x1b[<9u", ""),
            ("\x1b[>4;2m\x1b[>1;3m\x1b[>4m", "^[>1;3m"),
            ("\x1b[?69h\x1b[3;9s", "^[?69h^[3;9s^[?69h"),
            ("\x1b[?1h\x1b=\x1b[?25l\x1b[!p", "^[?1l^[?7h^[?25h"),
        ] {
            assert_eq!(ledger(stream), written, "{stream:?}");
        }
    }

    #[test]
    fn a_flood_of_modes_and_flags_is_bounded() {
        let flood: String = (0..50_000)
            .map(|n| format!("\x1b[?{n}h\x1b[>1u\x1b[>{n};1m"))
            .collect();
        assert!(ledger(&flood).len() < 2000);
    }
}
