//! Untrusted bytes on a terminal: always one line, never a control, never lossy.

use lazaret_tests::Random;
use lazaret_tree::{escape, unescape};

/// Escapes, checks that nothing gets through and that nothing is lost.
#[track_caller]
fn check(bytes: &[u8], expect: &str) {
    let line = escape(bytes);
    assert_eq!(line, expect);
    assert_eq!(unescape(&line).as_deref(), Some(bytes));
}

#[test]
fn ordinary_text_stays() {
    check(b"src/main.rs", "src/main.rs");
    check("Grüße 日本語 🦀 a b".as_bytes(), "Grüße 日本語 🦀 a b");
    check(b"", "");
    check(b"C:\\x\\u{1b}", "C:\\\\x\\\\u{1b}");
}

#[test]
fn ui_01_clipboard_links_and_titles_are_inert() {
    check(b"\x1b]52;c;ZXZpbA==\x07", "\\u{1b}]52;c;ZXZpbA==\\u{7}");
    check(
        b"\x1b]8;;https://x\x1b\\y",
        "\\u{1b}]8;;https://x\\u{1b}\\\\y",
    );
    check(b"\x1b]0;title\x07", "\\u{1b}]0;title\\u{7}");
}

#[test]
fn ui_02_nothing_moves_the_cursor() {
    check(b"safe\revil", "safe\\u{d}evil");
    check(b"a\x08\x08b", "a\\u{8}\\u{8}b");
    check(b"\x1b[1A\x1b[2K", "\\u{1b}[1A\\u{1b}[2K");
    check(b"one\ntwo\tthree\x7f", "one\\u{a}two\\u{9}three\\u{7f}");
}

#[test]
fn ui_03_eight_bit_controls_and_broken_utf_8() {
    check(b"\x9b31m", "\\x9b31m");
    check(
        "\u{9b}31m\u{90}\u{9f}".as_bytes(),
        "\\u{9b}31m\\u{90}\\u{9f}",
    );
    check(b"\xc3\x1b[2J", "\\xc3\\u{1b}[2J");
    check(b"bad\xff\xfe", "bad\\xff\\xfe");
    check(b"\xed\xa0\x80", "\\xed\\xa0\\x80");
    check(b"\xf0\x9f\xa6", "\\xf0\\x9f\\xa6");
    check(b"\x00", "\\u{0}");
}

#[test]
fn ui_04_text_keeps_its_direction_and_shows_what_is_there() {
    check("a\u{202e}txt.exe".as_bytes(), "a\\u{202e}txt.exe");
    check("\u{2066}x\u{2069}".as_bytes(), "\\u{2066}x\\u{2069}");
    check(
        "a\u{200b}b\u{200d}c\u{feff}".as_bytes(),
        "a\\u{200b}b\\u{200d}c\\u{feff}",
    );
    check(
        "a\u{a0}b\u{3000}c\u{2028}d".as_bytes(),
        "a\\u{a0}b\\u{3000}c\\u{2028}d",
    );
    check(
        "\u{e0041}\u{3164}\u{2800}".as_bytes(),
        "\\u{e0041}\\u{3164}\\u{2800}",
    );
    check(
        "\u{e000}\u{10ffff}\u{fdd0}".as_bytes(),
        "\\u{e000}\\u{10ffff}\\u{fdd0}",
    );
}

#[test]
fn any_bytes_become_one_printable_line_and_come_back() {
    let random = &mut Random::new(1);
    for _ in 0..20_000 {
        let length = random.below(24);
        let bytes: Vec<u8> = (0..length)
            .map(|_| match random.below(3) {
                // Lead and continuation bytes, controls, and plain text.
                0 => 0x80 | random.below(128) as u8,
                1 => random.below(40) as u8,
                _ => b'!' + random.below(94) as u8,
            })
            .collect();
        let line = escape(&bytes);
        assert!(!line.chars().any(char::is_control), "{line:?}");
        assert_eq!(unescape(&line), Some(bytes), "{line:?}");
    }
}

#[test]
fn only_what_was_escaped_is_unescaped() {
    for line in [
        "\\",
        "\\q",
        "\\x4",
        "\\x41",
        "\\u{}",
        "\\u{41}",
        "\\u{d800}",
        "\\u1b",
        "\u{1b}",
        "\\xFF",
    ] {
        assert_eq!(unescape(line), None, "{line:?}");
    }
}
