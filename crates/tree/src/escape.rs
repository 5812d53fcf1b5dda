//! `escape`: the one way in which untrusted bytes reach a terminal, a report or a log.

use std::fmt::Write as _;

/// Turns any bytes into one printable line, losslessly.
///
/// | bytes | shown as |
/// |---|---|
/// | `\` | `\\` |
/// | every control character: C0 (LF, CR, ESC, BEL, BS, ...), DEL, C1 (8-bit CSI, DCS, APC) | `\u{1b}` |
/// | what is invisible or reorders text ([`is_invisible`]): bidi controls, zero-width characters, fillers, tags, variation selectors, line separators, every space but U+0020, private use | `\u{202e}` |
/// | each byte that is not part of valid UTF-8 | `\xff` |
/// | anything else | itself |
///
/// So a name can neither move the cursor, write the clipboard (OSC 52), forge a
/// link (OSC 8), nor read differently from what it is (CVE-2021-25743,
/// CVE-2021-42574, CVE-2024-52005). [`unescape`] is the inverse. Letters that look
/// like other letters stay as they are: that is for the validator to point out.
pub fn escape(bytes: &[u8]) -> String {
    let mut line = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '\\' => line.push_str("\\\\"),
                char if char.is_control() || is_invisible(char) || is_deceptive(char) => {
                    // Writing to a `String` cannot fail.
                    let _ = write!(line, "\\u{{{:x}}}", u32::from(char));
                }
                char => line.push(char),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(line, "\\x{byte:02x}");
        }
    }
    line
}

/// Whether `c` shows nothing, or changes the order in which others are shown
/// (TAR-43, CVE-2021-42574).
pub fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Whether `c` looks like the ordinary space without being it, or looks as each
/// terminal likes: white space other than U+0020, private use, noncharacters.
fn is_deceptive(c: char) -> bool {
    let code = u32::from(c);
    (c.is_whitespace() && c != ' ')
        || matches!(c, '\u{2800}' | '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{fffc}')
        || code >= 0xf_0000
        || code & 0xfffe == 0xfffe
}

/// Reads back what [`escape`] wrote; `None` when it cannot have written `line`.
pub fn unescape(line: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at + 1..];
        let kind = rest.chars().next()?;
        rest = &rest[kind.len_utf8()..];
        match kind {
            '\\' => bytes.push(b'\\'),
            'x' => {
                bytes.push(u8::from_str_radix(rest.get(..2)?, 16).ok()?);
                rest = &rest[2..];
            }
            'u' => {
                let (digits, after) = rest.strip_prefix('{')?.split_once('}')?;
                let char = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
                bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                rest = after;
            }
            _ => return None,
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    (escape(&bytes) == line).then_some(bytes)
}
