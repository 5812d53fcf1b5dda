//! `ScreenSanitizer`: lets through what draws, and leaves out what acts.
//!
//! A program with a screen moves its cursor and asks the terminal what it can do; so more
//! passes than where a command only prints. What passes is a list: text, the control
//! characters and the control sequences (ECMA-48, `ctlseqs` of xterm) that move, erase,
//! scroll, colour, choose a character set, set a mode, or ask for state. Everything else is
//! left out: all control strings (OSC, DCS, APC, PM, SOS: clipboard, titles, links, files,
//! the terminal's own commands), window operations, printing, checksums of the screen, the
//! lock of the keyboard, the answerback, and 8-bit controls.

/// A longer sequence is none that draws.
const LONGEST: usize = 96;

/// Filters a stream, however it is cut.
#[derive(Debug, Default)]
pub struct ScreenSanitizer {
    state: State,
    /// The sequence so far, from its ESC.
    sequence: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Text,
    /// In a character of so many more bytes.
    Character(u8),
    /// After ESC, perhaps with intermediate bytes.
    Escape,
    /// After CSI.
    Control,
    /// In a control string.
    String,
    /// In a control string, after ESC.
    StringEscape,
}

impl ScreenSanitizer {
    /// Returns what of a chunk may go to a terminal.
    pub fn pass(&mut self, chunk: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(chunk.len());
        for &byte in chunk {
            self.take(byte, &mut out);
        }
        out
    }

    fn take(&mut self, byte: u8, out: &mut Vec<u8>) {
        self.state = match (self.state, byte) {
            // CAN and SUB end every sequence.
            (_, 0x18 | 0x1a) => State::Text,
            (State::String, 0x1b) => State::StringEscape,
            (State::String, 0x07) | (State::StringEscape, b'\\') => State::Text,
            (State::String, _) => State::String,
            (_, 0x1b) => {
                self.sequence = vec![0x1b];
                State::Escape
            }
            // Any other sequence ends the string, and is one.
            (State::StringEscape, byte) => {
                self.sequence = vec![0x1b];
                self.escape(byte, out)
            }
            (State::Escape, byte) => self.escape(byte, out),
            (State::Control, byte) => self.control(byte, out),
            (State::Character(left), 0x80..=0xbf) => self.continued(left, byte, out),
            (State::Text | State::Character(_), byte) => self.text(byte, out),
        };
    }

    fn text(&mut self, byte: u8, out: &mut Vec<u8>) -> State {
        let more = match byte {
            0x07..=0x0f | 0x20..=0x7e => {
                out.push(byte);
                return State::Text;
            }
            0xc2..=0xdf => 1,
            0xe0..=0xef => 2,
            0xf0..=0xf4 => 3,
            // No text of UTF-8, or a control that acts: the answerback, XON and XOFF.
            _ => return State::Text,
        };
        self.sequence = vec![byte];
        State::Character(more)
    }

    fn continued(&mut self, left: u8, byte: u8, out: &mut Vec<u8>) -> State {
        self.sequence.push(byte);
        if left > 1 {
            return State::Character(left - 1);
        }
        // The 8-bit controls are characters too.
        let text = std::str::from_utf8(&self.sequence);
        if text.is_ok_and(|text| !text.chars().any(char::is_control)) {
            out.extend_from_slice(&self.sequence);
        }
        State::Text
    }

    fn escape(&mut self, byte: u8, out: &mut Vec<u8>) -> State {
        self.sequence.push(byte);
        let is_first = self.sequence.len() == 2;
        match byte {
            b'[' if is_first => State::Control,
            b']' | b'P' | b'X' | b'^' | b'_' if is_first => State::String,
            0x20..=0x2f if self.sequence.len() <= 3 => State::Escape,
            0x30..=0x7e => {
                if draws(&self.sequence[1..]) {
                    out.extend_from_slice(&self.sequence);
                }
                State::Text
            }
            // A control character within acts as if it stood before.
            0x08..=0x0d => {
                self.sequence.pop();
                out.push(byte);
                State::Escape
            }
            _ => State::Text,
        }
    }

    fn control(&mut self, byte: u8, out: &mut Vec<u8>) -> State {
        match byte {
            0x08..=0x0d => {
                out.push(byte);
                State::Control
            }
            0x20..=0x3f if self.sequence.len() < LONGEST => {
                self.sequence.push(byte);
                State::Control
            }
            0x40..=0x7e => {
                self.sequence.push(byte);
                if self.sequence.len() <= LONGEST && moves(&self.sequence[2..]) {
                    out.extend_from_slice(&self.sequence);
                }
                State::Text
            }
            // Too long: its end is still its end.
            0x20..=0x3f => State::Control,
            _ => State::Text,
        }
    }
}

/// Whether an escape sequence, without its ESC, draws.
fn draws(sequence: &[u8]) -> bool {
    match sequence {
        // Cursor, tabulators, keypad, reset, shifts.
        [b'7' | b'8' | b'=' | b'>' | b'D' | b'E' | b'H' | b'M' | b'N' | b'O' | b'Z' | b'c'] => true,
        // Character sets, and the pattern for alignment.
        [b'(' | b')' | b'*' | b'+', b'0' | b'A' | b'B' | b'1' | b'2'] | [b'#', b'8'] => true,
        _ => false,
    }
}

/// Whether a control sequence, without its CSI, draws or asks.
fn moves(sequence: &[u8]) -> bool {
    let Some((&last, before)) = sequence.split_last() else {
        return false;
    };
    let split = before.iter().position(|byte| (0x20..=0x2f).contains(byte));
    let (parameters, between) = before.split_at(split.unwrap_or(before.len()));
    let private = parameters.first().copied().filter(|byte| *byte >= b'<');
    match (private, between, last) {
        (None, b"", b'A'..=b'H' | b'I' | b'J' | b'K' | b'L' | b'M' | b'P' | b'S' | b'T') => true,
        (None, b"", b'X' | b'Z' | b'@' | b'`' | b'a' | b'b' | b'd' | b'e' | b'f' | b'g') => true,
        (None, b"", b'm' | b'n' | b'r' | b's' | b'u' | b'c') => true,
        // Insert mode and line feeds; 2 locks the keyboard.
        (None, b"", b'h' | b'l') => parameters == b"4" || parameters == b"20",
        // Modes, erasing, reports, the keyboard of kitty.
        (Some(b'?'), b"", b'h' | b'l') => !modes(parameters).any(|mode| mode == b"2"),
        (Some(b'?'), b"", b'J' | b'K' | b'n' | b'u' | b'm') => true,
        (Some(b'>' | b'=' | b'<'), b"", b'c' | b'u' | b'm' | b'q') => true,
        // The cursor's shape, a soft reset, whether a mode is set.
        (None, b" ", b'q') | (None, b"!", b'p') | (_, b"$", b'p') => true,
        _ => false,
    }
}

fn modes(parameters: &[u8]) -> impl Iterator<Item = &[u8]> {
    parameters[1..].split(|byte| *byte == b';')
}

#[cfg(test)]
mod tests {
    use super::ScreenSanitizer;

    /// As a whole and byte by byte.
    #[track_caller]
    fn passed(bytes: &[u8]) -> Vec<u8> {
        let whole = ScreenSanitizer::default().pass(bytes);
        let mut screen = ScreenSanitizer::default();
        let pieces: Vec<u8> = bytes.chunks(1).flat_map(|byte| screen.pass(byte)).collect();
        assert_eq!(whole, pieces, "{bytes:?}");
        whole
    }

    #[test]
    fn what_draws_passes() {
        for bytes in [
            b"plain\r\n\t\x08\x07".as_slice(),
            "größer 漢 🦀 │".as_bytes(),
            b"\x1b[1;31mred\x1b[0m\x1b[38;2;1;2;3m\x1b[38:5:1m",
            b"\x1b[?1049h\x1b[2J\x1b[H\x1b[10;20H\x1b[K\x1b[1;24r\x1b[?25l\x1b[6n\x1b[c\x1b[>c",
            b"\x1b7\x1b8\x1b(0lqk\x1b(B\x1b=\x1b>\x1bM\x1b[3 q\x1b[!p\x1b[?2026$p\x1b[?2004h",
            b"\x1b[>1u\x1b[<u\x1b[?u\x1b[>4;2m\x1b[4h\x1b[?1000;1006h",
        ] {
            assert_eq!(passed(bytes), bytes);
        }
    }

    #[test]
    fn ui_01_what_acts_is_left_out() {
        for bytes in [
            b"\x1b]52;c;aGk=\x07".as_slice(),
            b"\x1b]0;title\x1b\\",
            b"\x1b]8;;http://x\x1b\\",
            b"\x1b]1337;File=name=eA==:aGk=\x07",
            b"\x1bP$q\"p\x1b\\",
            b"\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\",
            b"\x1b_Ga=T,t=f;L2V0Yw==\x1b\\",
            b"\x1b^x\x1b\\",
            b"\x1bXx\x1b\\",
            b"\x1b[21t",
            b"\x1b[22;0t",
            b"\x1b[5i",
            b"\x1b[?5i",
            b"\x1b[2h",
            b"\x1b[?2l",
            b"\x1b[?25;2l",
            b"\x1b[1;1;1;1;24;80*y",
            b"\x1b[61\"p",
            b"\x1b%@",
            b"\x1b F",
            b"\x05",
            b"\x13",
            &b"\xc2\x9d52;c;aGk=\xc2\x9c"[..2],
            &b"\x9b21t"[..1],
            b"\xff\xfe\xc0\xaf",
        ] {
            let around = [b"a".as_slice(), bytes, b"b"].concat();
            let left = passed(&around);
            assert!(left == b"ab", "{bytes:?} became {left:?}");
        }
        assert_eq!(passed(b"\xc2\x9b21t"), b"21t");
        assert_eq!(passed(b"\x1b[2\x1b]0;x\x07a"), b"a");
        assert_eq!(passed(b"\x1b]0;x\x18a"), b"a");
        // Never closed: nothing of it is shown.
        assert_eq!(passed(b"\x1b]52;c;aGk"), b"");
        let long = [b"\x1b[".as_slice(), &[b'1'; 500], b"Hx"].concat();
        assert_eq!(passed(&long), b"x");
    }
}
