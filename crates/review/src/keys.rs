//! Keys, out of the bytes that a terminal sends (ECMA-48; xterm's "Control Sequences").
//!
//! Small on purpose: what is not one of the keys of the review is swallowed whole. That
//! holds for the answers of a terminal to questions that a command slipped into its
//! output: no part of one counts as a key.

use std::fmt;

use lazaret_tree::escape;

/// A key of the review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A printable character.
    Char(char),
    /// A letter with Ctrl, lower case.
    Ctrl(char),
    /// Return.
    Enter,
    /// Escape by itself.
    Esc,
    /// Tab.
    Tab,
    /// Shift and Tab.
    BackTab,
    /// Backspace.
    Backspace,
    /// Cursor up.
    Up,
    /// Cursor down.
    Down,
    /// Cursor left.
    Left,
    /// Cursor right.
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the start.
    Home,
    /// To the end.
    End,
}

/// As it is named to a person.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Char(' ') => "space",
            Self::Char(letter) => {
                return f.write_str(&escape(letter.encode_utf8(&mut [0; 4]).as_bytes()));
            }
            Self::Ctrl(letter) => return write!(f, "Ctrl-{}", letter.to_ascii_uppercase()),
            Self::Enter => "Enter",
            Self::Esc => "Esc",
            Self::Tab => "Tab",
            Self::BackTab => "Shift-Tab",
            Self::Backspace => "Backspace",
            Self::Up => "Up",
            Self::Down => "Down",
            Self::Left => "Left",
            Self::Right => "Right",
            Self::PageUp => "PgUp",
            Self::PageDown => "PgDn",
            Self::Home => "Home",
            Self::End => "End",
        })
    }
}

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
/// Ends a bracketed paste.
const PASTE_END: &[u8] = b"\x1b[201~";
/// A sequence that is longer than this is none; its start is dropped.
const LONGEST: usize = 4096;

/// Turns bytes into keys; keeps what is incomplete until more comes.
#[derive(Debug, Default)]
pub struct Decoder {
    pending: Vec<u8>,
    pasting: bool,
}

/// What the start of the pending bytes is.
enum Token {
    /// So many bytes, which are this key or none.
    Whole(usize, Option<Key>),
    /// So many bytes, after which pasted text follows.
    Paste(usize),
    /// Not all of it is there.
    Incomplete,
}

impl Decoder {
    /// Takes bytes and appends the keys that are complete.
    pub fn feed(&mut self, bytes: &[u8], keys: &mut Vec<Key>) {
        self.pending.extend_from_slice(bytes);
        loop {
            if self.pasting && !self.skip_paste() {
                return;
            }
            match token(&self.pending) {
                Token::Whole(length, key) => {
                    self.pending.drain(..length);
                    keys.extend(key);
                }
                Token::Paste(length) => {
                    self.pending.drain(..length);
                    self.pasting = true;
                }
                Token::Incomplete if self.pending.len() > LONGEST => {
                    self.pending.clear();
                    return;
                }
                Token::Incomplete => return,
            }
        }
    }

    /// Nothing followed: an ESC by itself was the key, and the rest of what is pending
    /// was cut off.
    pub fn settle(&mut self, keys: &mut Vec<Key>) {
        if self.pending == [ESC] {
            keys.push(Key::Esc);
        }
        if !self.pasting {
            self.pending.clear();
        }
    }

    /// Forgets what is incomplete.
    pub fn clear(&mut self) {
        self.pending.clear();
        self.pasting = false;
    }

    /// Drops pasted text, and says whether the paste has ended. Nothing that is pasted is
    /// typed, and only what is typed counts.
    fn skip_paste(&mut self) -> bool {
        let end = self
            .pending
            .windows(PASTE_END.len())
            .position(|window| window == PASTE_END);
        match end {
            Some(at) => {
                self.pending.drain(..at + PASTE_END.len());
                self.pasting = false;
                true
            }
            None => {
                let kept = self.pending.len().min(PASTE_END.len() - 1);
                self.pending.drain(..self.pending.len() - kept);
                false
            }
        }
    }
}

fn token(bytes: &[u8]) -> Token {
    let Some(&first) = bytes.first() else {
        return Token::Incomplete;
    };
    let key = match first {
        ESC => return escape_sequence(bytes),
        b'\r' | b'\n' => Some(Key::Enter),
        b'\t' => Some(Key::Tab),
        0x08 | 0x7f => Some(Key::Backspace),
        0x01..=0x1a => Some(Key::Ctrl(char::from(first + b'a' - 1))),
        0x00..0x20 => None,
        0x20..0x7f => Some(Key::Char(char::from(first))),
        _ => return character(bytes),
    };
    Token::Whole(1, key)
}

/// A character of more than one byte. C1 controls and bytes that are no UTF-8 are no keys.
fn character(bytes: &[u8]) -> Token {
    let start = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(start) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() > 0 => {
            std::str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(error) => {
            return match error.error_len() {
                Some(length) => Token::Whole(length, None),
                None => Token::Incomplete,
            };
        }
    };
    match valid.chars().next() {
        Some(c) if c.is_control() => Token::Whole(c.len_utf8(), None),
        Some(c) => Token::Whole(c.len_utf8(), Some(Key::Char(c))),
        None => Token::Incomplete,
    }
}

fn escape_sequence(bytes: &[u8]) -> Token {
    match bytes.get(1) {
        None => Token::Incomplete,
        Some(b'[') => control_sequence(bytes),
        Some(b'O') => match bytes.get(2) {
            None => Token::Incomplete,
            Some(&last) => Token::Whole(3, cursor_key(last)),
        },
        // OSC, DCS, APC, PM, SOS: the answers of a terminal.
        Some(b']' | b'P' | b'_' | b'^' | b'X') => control_string(bytes),
        // Two presses of Escape: the first one is complete.
        Some(&ESC) => Token::Whole(1, Some(Key::Esc)),
        // Alt and a key is another key than the key.
        Some(_) => match character_after_escape(bytes) {
            Some(length) => Token::Whole(1 + length, None),
            None => Token::Incomplete,
        },
    }
}

fn character_after_escape(bytes: &[u8]) -> Option<usize> {
    match bytes[1] {
        0x00..0x80 => Some(1),
        _ => match character(&bytes[1..]) {
            Token::Whole(length, _) => Some(length),
            Token::Paste(_) | Token::Incomplete => None,
        },
    }
}

fn control_sequence(bytes: &[u8]) -> Token {
    let diff_view = &bytes[2..];
    let Some(end) = diff_view
        .iter()
        .position(|byte| !(0x20..0x40).contains(byte))
    else {
        return Token::Incomplete;
    };
    let length = 2 + end + 1;
    let parameters = &diff_view[..end];
    let first = parameters.split(|&byte| byte == b';').next();
    let key = match (diff_view[end], first) {
        (b'~', Some(b"200")) => return Token::Paste(length),
        (b'~', Some(b"1" | b"7")) => Some(Key::Home),
        (b'~', Some(b"4" | b"8")) => Some(Key::End),
        (b'~', Some(b"5")) => Some(Key::PageUp),
        (b'~', Some(b"6")) => Some(Key::PageDown),
        (b'Z', _) => Some(Key::BackTab),
        (last, _) => cursor_key(last),
    };
    // Another sequence starts within this one: it was cut off.
    if diff_view[end] == ESC {
        return Token::Whole(2 + end, None);
    }
    Token::Whole(length, key)
}

fn cursor_key(last: u8) -> Option<Key> {
    match last {
        b'A' => Some(Key::Up),
        b'B' => Some(Key::Down),
        b'C' => Some(Key::Right),
        b'D' => Some(Key::Left),
        b'H' => Some(Key::Home),
        b'F' => Some(Key::End),
        b'M' => Some(Key::Enter),
        _ => None,
    }
}

/// Ends with BEL or ST (ESC and a backslash).
fn control_string(bytes: &[u8]) -> Token {
    let diff_view = &bytes[2..];
    let bel = diff_view
        .iter()
        .position(|&byte| byte == BEL)
        .map(|at| at + 1);
    let st = diff_view
        .windows(2)
        .position(|pair| pair == b"\x1b\\")
        .map(|at| at + 2);
    match bel.into_iter().chain(st).min() {
        Some(length) => Token::Whole(2 + length, None),
        None => Token::Incomplete,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(parts: &[&[u8]]) -> Vec<Key> {
        let mut decoder = Decoder::default();
        let mut keys = Vec::new();
        for part in parts {
            decoder.feed(part, &mut keys);
        }
        decoder.settle(&mut keys);
        keys
    }

    #[test]
    fn keys_are_known_whole_and_in_pieces() {
        use Key::{
            BackTab, Backspace, Char, Ctrl, Down, End, Enter, Esc, Home, Left, PageDown, PageUp,
            Right, Tab, Up,
        };
        let table: [(&[u8], &[Key]); 14] = [
            (b"y", &[Char('y')]),
            ("ä漢".as_bytes(), &[Char('ä'), Char('漢')]),
            (b"\x1b", &[Esc]),
            (b"\x1b\x1b", &[Esc, Esc]),
            (b"\x1b[A\x1bOB", &[Up, Down]),
            (b"\x1b[1;5C\x1b[D", &[Right, Left]),
            (b"\x1b[5~\x1b[6~", &[PageUp, PageDown]),
            (b"\x1b[H\x1b[4~\x1b[7~\x1bOF", &[Home, End, Home, End]),
            (b"\t\x1b[Z", &[Tab, BackTab]),
            (b"\r\n\x1bOM", &[Enter, Enter, Enter]),
            (b"\x7f\x08", &[Backspace, Backspace]),
            (b"\x03\x1a", &[Ctrl('c'), Ctrl('z')]),
            (b"\x00\x1c", &[]),
            (b"\xff\xc3(", &[Char('(')]),
        ];
        for (bytes, expected) in table {
            assert_eq!(keys(&[bytes]), expected, "{bytes:?}");
            // Two ESCs that come apart from each other are decided by time, not here.
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(keys(&single), expected, "{bytes:?} byte by byte");
        }
    }

    #[test]
    fn ui_06_an_answer_of_the_terminal_is_no_key() {
        // Colour, version, device attributes, cursor position, title: each asked for by
        // output of the command, each with a `y` where one could be.
        for answer in [
            b"\x1b]11;rgb:yyyy/0000/0000\x1b\\".as_slice(),
            b"\x1b]11;y\x07",
            b"\x1bP>|tmuy 3.3y\x1b\\",
            b"\x1b[?1;2y",
            b"\x1b[24;80R",
            b"\x1b]ly\r\x1b\\",
            b"\x1by",
            b"\x1b\xc3\xbf",
        ] {
            assert_eq!(keys(&[answer, b"k"]), [Key::Char('k')], "{answer:?}");
        }
    }

    #[test]
    fn pasted_text_is_not_typed() {
        assert_eq!(
            keys(&[b"a\x1b[200~allow\r", b"y\x1b[20", b"1~b"]),
            [Key::Char('a'), Key::Char('b')]
        );
        assert_eq!(keys(&[b"\x1b[200~y"]), []);
    }

    #[test]
    fn an_endless_sequence_is_dropped() {
        let mut decoder = Decoder::default();
        let mut keys = Vec::new();
        for _ in 0..100 {
            decoder.feed(&[b"\x1b]".as_slice(), &[b'y'; 100]].concat(), &mut keys);
        }
        assert!(decoder.pending.len() <= LONGEST + 200);
        assert_eq!(keys, []);
    }
}
