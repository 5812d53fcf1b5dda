//! `escape`: one line, harmless, and the same bytes again.

use lazaret_tree::{escape, is_invisible, unescape};

/// Escapes the bytes; and takes them for something escaped.
pub(crate) fn escaped(bytes: &[u8]) {
    let line = escape(bytes);
    for char in line.chars() {
        assert!(
            !char.is_control() && !is_invisible(char),
            "{char:?} comes out"
        );
        assert!(!char.is_whitespace() || char == ' ', "{char:?} comes out");
    }
    assert_eq!(unescape(&line).as_deref(), Some(bytes));
    // Whatever can be read back is what would have been written.
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Some(raw) = unescape(text)
    {
        assert_eq!(escape(&raw), text);
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    [
        &b"plain name.txt"[..],
        b"\x1b]52;c;aGk=\x07",
        b"a\\u{1b}b\\xff\\\\",
        b"\xff\xfe\xc3",
        "\u{202e}gpj.exe\u{2066}\u{200b}\u{e0041}".as_bytes(),
        b"Apply? [y/N] y\r\n",
    ]
    .map(<[u8]>::to_vec)
    .to_vec()
}
