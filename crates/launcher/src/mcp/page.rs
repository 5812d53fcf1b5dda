//! `Page`: a piece of a text that is too long for one answer.

use serde_json::{Value, json};

use crate::ui::terminal::TextSanitizer;

/// The most bytes of a piece: escaped as JSON it stays below the bound of an answer.
pub(super) const MOST: u64 = 64 << 10;
/// The most bytes of a piece of what a command printed: one that is shown as `\\u{1b}` has seven.
pub(super) const MOST_PRINTED: u64 = 32 << 10;

/// Takes the piece of `text` that starts at `cursor`; `next` is where the one after it starts,
/// null at the end.
pub(super) fn of(session: &str, text: &str, cursor: u64) -> Value {
    let from = usize::try_from(cursor).unwrap_or(usize::MAX);
    let from = text.ceil_char_boundary(from.min(text.len()));
    let most = usize::try_from(MOST).unwrap_or(usize::MAX);
    let to = text.floor_char_boundary((from + most).min(text.len()));
    let next = (to < text.len()).then_some(to);
    json!({
        "session": session,
        "text": &text[from..to],
        "next": next,
        "total": text.len(),
    })
}

/// Shows what a command printed: colours and other sequences as their characters, escaped.
pub(super) fn shown(bytes: &[u8]) -> String {
    TextSanitizer::default()
        .pass(bytes)
        .replace('\x1b', "\\u{1b}")
}

/// How many bytes of a piece hold whole characters.
pub(super) fn whole(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_to_the_whole_text() {
        let text = "aé€\n".repeat(40_000);
        let (mut joined, mut cursor, mut count) = (String::new(), 0, 0);
        loop {
            let page = of("s", &text, cursor);
            joined.push_str(page["text"].as_str().unwrap());
            count += 1;
            match page["next"].as_u64() {
                Some(next) => cursor = next,
                None => break,
            }
        }
        assert_eq!(joined, text);
        assert_eq!(count, text.len().div_ceil(64 << 10));
        assert_eq!(of("s", &text, u64::MAX)["text"], "");
    }

    #[test]
    fn mcp_04_nothing_that_a_terminal_obeys_is_shown() {
        let printed = b"a\x1b[31mred\x1b]0;title\x07\x1b[2Jb\n\xff";
        let shown = shown(printed);
        assert!(!shown.contains(['\x1b', '\x07']), "{shown:?}");
        assert!(shown.starts_with('a') && shown.contains("red"), "{shown:?}");
        assert_eq!(whole("a€".as_bytes()), 4);
        assert_eq!(whole(&"a€".as_bytes()[..3]), 1);
    }
}
