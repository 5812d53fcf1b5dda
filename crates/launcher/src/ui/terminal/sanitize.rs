//! What passes from a command to a terminal that shows text: text and colours only.
//!
//! Everything else that a terminal would obey (the clipboard by OSC 52, links, titles,
//! cursor movements, the answer to a status report that would be typed into our prompt) is
//! shown instead of done (UI-01 to UI-03).

use lazaret_tree::{escape, is_invisible};

/// Lets text, line breaks, tabs and colours through, and shows the rest.
#[derive(Debug, Default)]
pub struct TextSanitizer {
    /// The beginning of a character or of a control sequence, whose rest has not come yet.
    pending: Vec<u8>,
}

/// A control sequence longer than this is no colour.
const LONGEST_COLOUR: usize = 32;

impl TextSanitizer {
    /// Filters a chunk. What can't be decided yet is held back for the next one.
    pub fn pass(&mut self, chunk: &[u8]) -> String {
        let mut bytes = std::mem::take(&mut self.pending);
        bytes.extend_from_slice(chunk);
        let mut text = String::with_capacity(bytes.len());
        let mut rest = &bytes[..];
        while let Some(&first) = rest.first() {
            let taken = match first {
                b'\n' | b'\t' | b' '..=b'~' => Taken::Plain(1),
                b'\r' => match rest.get(1) {
                    None => Taken::Wait,
                    Some(b'\n') => Taken::Nothing(1),
                    // Overwriting a line could hide it; it becomes a line of its own.
                    Some(_) => Taken::LineBreak,
                },
                0x1b => colour(rest),
                0x80.. => character(rest),
                _ => Taken::Shown(1),
            };
            let count = match taken {
                Taken::Wait => break,
                Taken::LineBreak => {
                    text.push('\n');
                    1
                }
                Taken::Nothing(count) => count,
                Taken::Plain(count) => {
                    text.push_str(&String::from_utf8_lossy(rest.get(..count).unwrap_or(rest)));
                    count
                }
                Taken::Shown(count) => {
                    text.push_str(&escape(rest.get(..count).unwrap_or(rest)));
                    count
                }
            };
            rest = rest.get(count..).unwrap_or_default();
        }
        self.pending = rest.to_vec();
        text
    }
}

enum Taken {
    Plain(usize),
    Shown(usize),
    Nothing(usize),
    LineBreak,
    Wait,
}

/// `ESC [ digits and semicolons m` (ECMA-48 SGR) passes; any other ESC is shown.
fn colour(bytes: &[u8]) -> Taken {
    match bytes.get(1) {
        None => return Taken::Wait,
        Some(b'[') => {}
        Some(_) => return Taken::Shown(1),
    }
    for (index, byte) in bytes.iter().enumerate().skip(2).take(LONGEST_COLOUR) {
        match byte {
            b'0'..=b'9' | b';' => {}
            b'm' => return Taken::Plain(index + 1),
            _ => return Taken::Shown(1),
        }
    }
    if bytes.len() < LONGEST_COLOUR {
        Taken::Wait
    } else {
        Taken::Shown(1)
    }
}

/// A whole UTF-8 character passes unless it is a control or invisible.
fn character(bytes: &[u8]) -> Taken {
    let longest = bytes.get(..bytes.len().min(4)).unwrap_or(bytes);
    let (text, invalid) = match std::str::from_utf8(longest) {
        Ok(text) => (text, None),
        Err(error) => {
            let valid = longest.get(..error.valid_up_to()).unwrap_or_default();
            (
                std::str::from_utf8(valid).unwrap_or_default(),
                Some(error.error_len()),
            )
        }
    };
    match (text.chars().next(), invalid) {
        (Some(c), _) if c.is_control() || is_invisible(c) => Taken::Shown(c.len_utf8()),
        (Some(c), _) => Taken::Plain(c.len_utf8()),
        (None, Some(None)) => Taken::Wait,
        (None, _) => Taken::Shown(1),
    }
}

#[cfg(test)]
mod tests {
    use super::TextSanitizer;

    fn filtered(chunks: &[&[u8]]) -> String {
        let mut filter = TextSanitizer::default();
        chunks.iter().map(|chunk| filter.pass(chunk)).collect()
    }

    #[test]
    fn ui_01_clipboard_links_and_titles_are_shown_not_done() {
        assert_eq!(
            filtered(&[b"a\x1b]52;c;aGk=\x07b"]),
            r"a\u{1b}]52;c;aGk=\u{7}b"
        );
        assert_eq!(
            filtered(&[b"\x1b]8;;http://x\x1b\\t"]),
            r"\u{1b}]8;;http://x\u{1b}\t"
        );
    }

    #[test]
    fn ui_02_nothing_overwrites_what_stands_there() {
        assert_eq!(filtered(&[b"evil\rgood\r\nnext"]), "evil\ngood\nnext");
        assert_eq!(filtered(&[b"a\x08b\x1b[2Ac"]), r"a\u{8}b\u{1b}[2Ac");
    }

    #[test]
    fn ui_03_eight_bit_controls_are_shown() {
        assert_eq!(filtered(&["\u{9b}2J".as_bytes()]), r"\u{9b}2J");
        assert_eq!(filtered(&[b"\x9b2J"]), r"\x9b2J");
    }

    #[test]
    fn text_and_colours_pass_also_in_pieces() {
        assert_eq!(
            filtered(&[b"\x1b[1;31mred\x1b[0m\t\xc3", b"\xa9\n"]),
            "\x1b[1;31mred\x1b[0m\té\n"
        );
        assert_eq!(filtered(&[b"\x1b", b"[3", b"2mgreen"]), "\x1b[32mgreen");
    }
}
