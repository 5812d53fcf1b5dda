//! `Tokens`: splits a filtered stream into characters, controls and sequences.

/// One piece of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A character of UTF-8.
    Text(char),
    /// A control character, C0.
    Control(u8),
    /// An escape sequence without its ESC.
    Escape(&'a [u8]),
    /// A control sequence.
    Csi(Csi<'a>),
}

/// A control sequence (ECMA-48, 5.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Csi<'a> {
    /// `?`, `>`, `=` or `<` before the parameters, else 0.
    pub(super) private: u8,
    /// Digits, `;` and `:`.
    pub(super) parameters: &'a [u8],
    /// The intermediate byte, else 0.
    pub(super) intermediate: u8,
    /// The last byte.
    pub(super) last: u8,
}

impl<'a> Csi<'a> {
    fn parse(body: &'a [u8]) -> Option<Self> {
        let (&last, body) = body.split_last()?;
        let (private, body) = match body.split_first() {
            Some((first @ b'<'..=b'?', rest)) => (*first, rest),
            _ => (0, body),
        };
        let end = body.iter().position(|byte| !is_parameter(*byte));
        let (parameters, intermediates) = body.split_at(end.unwrap_or(body.len()));
        let intermediate = match intermediates {
            [] => 0,
            [byte] => *byte,
            _ => return None,
        };
        Some(Self {
            private,
            parameters,
            intermediate,
            last,
        })
    }

    /// Returns private byte, intermediate byte and last byte, each 0 if absent.
    pub(super) fn kind(&self) -> [u8; 3] {
        [self.private, self.intermediate, self.last]
    }

    /// Returns the parameters. One that is left out, or no number, is `None`; one that is too
    /// large is 65535.
    pub(super) fn numbers(&self) -> impl Iterator<Item = Option<u16>> + use<'a> {
        self.parameters
            .split(|byte| *byte == b';')
            .map(parse_number)
    }

    /// Returns a parameter by its place, `default` if it is left out or 0.
    pub(super) fn number_or(&self, place: usize, default: u16) -> u16 {
        let number = self.numbers().nth(place).flatten().unwrap_or(0);
        if number == 0 { default } else { number }
    }

    /// Returns a parameter by its place, 0 if it is left out.
    pub(super) fn number(&self, place: usize) -> u16 {
        self.number_or(place, 0)
    }
}

fn is_parameter(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b';' || byte == b':'
}

/// Parses digits; 65535 stands for anything larger.
pub(super) fn parse_number(digits: &[u8]) -> Option<u16> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = digits.iter().fold(0_u16, |number, digit| {
        number
            .saturating_mul(10)
            .saturating_add(u16::from(digit - b'0'))
    });
    Some(number)
}

/// No sequence that passes the filter is longer.
const LONGEST: usize = 96;

/// Splits a stream, however it is cut. It holds at most [`LONGEST`] bytes.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    /// A character or sequence whose end has not come yet.
    pending: Vec<u8>,
}

impl Tokens {
    /// Splits a chunk. What is neither a character nor a sequence is dropped.
    pub(super) fn split(&mut self, chunk: &[u8], take: &mut dyn FnMut(Token<'_>)) {
        for &byte in chunk {
            self.push(byte, take);
        }
    }

    fn push(&mut self, byte: u8, take: &mut dyn FnMut(Token<'_>)) {
        match (self.pending.first(), byte) {
            (_, 0x1b) => {
                self.pending.clear();
                self.pending.push(byte);
            }
            (Some(0x1b), 0x18 | 0x1a) => self.pending.clear(),
            (_, 0..=0x1f) => take(Token::Control(byte)),
            (Some(0x1b), _) => self.continue_sequence(byte, take),
            (Some(_), 0x80..=0xbf) => self.continue_character(byte, take),
            (_, 0x20..=0x7e) => {
                self.pending.clear();
                take(Token::Text(char::from(byte)));
            }
            (_, 0xc2..=0xf4) => {
                self.pending.clear();
                self.pending.push(byte);
            }
            _ => self.pending.clear(),
        }
    }

    fn continue_character(&mut self, byte: u8, take: &mut dyn FnMut(Token<'_>)) {
        self.pending.push(byte);
        match std::str::from_utf8(&self.pending) {
            Ok(text) => {
                text.chars().for_each(|c| take(Token::Text(c)));
                self.pending.clear();
            }
            Err(error) if error.error_len().is_some() => self.pending.clear(),
            Err(_) => {}
        }
    }

    fn continue_sequence(&mut self, byte: u8, take: &mut dyn FnMut(Token<'_>)) {
        self.pending.push(byte);
        let body = &self.pending[1..];
        let token = match (body, byte) {
            ([b'['], _) | ([b'[', ..], 0x20..=0x3f) | (_, 0x20..=0x2f) => {
                if self.pending.len() >= LONGEST {
                    self.pending.clear();
                }
                return;
            }
            ([b'[', parts @ ..], 0x40..=0x7e) => Csi::parse(parts).map(Token::Csi),
            (_, 0x30..=0x7e) => Some(Token::Escape(body)),
            _ => None,
        };
        if let Some(token) = token {
            take(token);
        }
        self.pending.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{Token, Tokens};

    fn split(bytes: &[u8], size: usize) -> Vec<String> {
        let mut tokens = Tokens::default();
        let mut found = Vec::new();
        for chunk in bytes.chunks(size) {
            tokens.split(chunk, &mut |token| {
                found.push(match token {
                    Token::Text(c) => c.to_string(),
                    Token::Control(byte) => format!("^{byte}"),
                    Token::Escape(body) => format!("ESC {}", String::from_utf8_lossy(body)),
                    Token::Csi(csi) => format!("{:?} {:?}", csi.kind(), {
                        let numbers: Vec<_> = csi.numbers().collect();
                        numbers
                    }),
                });
            });
        }
        found
    }

    #[test]
    fn a_stream_is_split_the_same_however_it_is_cut() {
        let stream = "a漢\r\x1b[1;;70000H\x1b[?25l\x1b(0\x1b[2 q\x1b7é".as_bytes();
        let whole = split(stream, stream.len());
        assert_eq!(
            whole,
            [
                "a",
                "漢",
                "^13",
                "[0, 0, 72] [Some(1), None, Some(65535)]",
                "[63, 0, 108] [Some(25)]",
                "ESC (0",
                "[0, 32, 113] [Some(2)]",
                "ESC 7",
                "é",
            ]
        );
        for size in 1..6 {
            assert_eq!(split(stream, size), whole);
        }
    }

    #[test]
    fn what_never_ends_is_not_kept() {
        let mut tokens = Tokens::default();
        let endless = [b"\x1b[".as_slice(), &[b'1'; 10_000]].concat();
        tokens.split(&endless, &mut |_| {});
        assert!(tokens.pending.len() < super::LONGEST);
    }
}
