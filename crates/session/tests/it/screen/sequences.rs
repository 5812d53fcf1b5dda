//! Sequences that no recording has, each followed by output that depends on it.

use super::terminal::{Attach, SIZE};

/// What comes before the cut, and what after it.
const CASES: &[(&str, &str)] = &[
    // Line drawing, chosen before and used after.
    ("\x1b(0lqqk\x1b(B", "text"),
    ("\x1b(0lqqk", "mqqj"),
    ("\x1b)0\x0eqqq", "qqq\x0fqqq"),
    // Insert mode, rows that do not wrap, line feeds that return.
    ("abcdef\x1b[4h\x1b[3G12", "34"),
    ("漢字漢\x1b[4h\x1b[3G字", "x"),
    ("\x1b[?7l\x1b[75Gabcdefghij", "kl"),
    ("\x1b[20hone\r\ntwo", "\x1b[20l"),
    // Margins and origin mode, on both screens.
    ("\x1b[5;10r\x1b[10Hbottom", "\r\nnext\r\nnext"),
    (
        "\x1b[5;10r\x1b[?6h\x1b[2;3Hin",
        "\x1b[1;1Htop\x1b[9;9Hclamped",
    ),
    ("\x1b[5;10r\x1b[5H\x1bM\x1bM12", "\x1b[L3\x1b[M"),
    (
        "\x1b[3;6r\x1b[?1049h\x1b[6;1Halt",
        "\r\nscrolled\x1b[?1049l\x1b[6;1H\r\nscrolled",
    ),
    ("\x1b[5;5r\x1b[8;2rtext", "\x1b[24;1H\r\n"),
    // The end of a row, where the cursor waits.
    ("\x1b[80Gx", "y"),
    ("\x1b[80Gx", "\x08y"),
    ("\x1b[80Gx\x08", "y"),
    ("\x1b[80Gx\x1b[D", "y"),
    ("\x1b[80Gx\x1b[A", "y"),
    ("\x1b[79G漢", "y"),
    ("\x1b[31m\x1b[80Gx\x1b[32m", "y"),
    ("\x1b[80Gx\x1b[4h", "y"),
    // Cursors that are saved.
    ("\x1b[5;5H\x1b[31;1m\x1b7\x1b[9;9H\x1b[0m", "\x1b8red"),
    ("\x1b[5;5H\x1b[32m\x1b[s\x1b[9;9H", "\x1b[ugreen"),
    (
        "\x1b[3;3H\x1b[33mmain\x1b[?1049h\x1b[9;9H\x1b[34m\x1b7\x1b[H",
        "\x1b8blue\x1b[?1049lyellow",
    ),
    ("main\x1b[?1049halt", "\x1b[?1049l more"),
    (
        "one\r\n\x1b[?1049h\x1b[2J\x1b[?1049ltwo",
        "\x1b[?1049hthree",
    ),
    // Tab stops.
    ("a\tb\x1b[3g\x1b[5G\x1bH\x1b[12G\x1bH\r", "\tx\ty\tz"),
    ("\x1b[9G\x1b[g\r", "\tx\x1b[Zy"),
    ("\tone\ttwo\x1b[2Z", "x\x1b[2Iy"),
    // Positions that are relative.
    ("\x1b[5;5H\x1b[3a\x1b[2ex", "\x1b[7dx\x1b[20`x"),
    ("one\x1bEtwo\x1bDthree", "\x1bEfour"),
    ("ab\x1b[5b", "\x1b[3b"),
    // Attributes.
    ("\x1b[38:2::10:20:30mrgb\x1b[48;5;200m256", "text"),
    ("\x1b[2;3;4;7mall", "text\x1b[22;23;24;27mnone"),
    ("\x1b[58;5;1munderline colour is no bold", "text"),
    ("\x1b[44m\x1b[2J\x1b[5;5Hblue", "\x1b[K\x1b[0m\x1b[J"),
    // Keyboards, mice and cursors.
    ("\x1b[>1u\x1b[>3u", "\x1b[<u"),
    ("\x1b[>1u\x1b[?1049h\x1b[>7u", "\x1b[?1049l"),
    ("\x1b[?1049h\x1b[>7u\x1b[?1049l\x1b[>1u", "\x1b[?1049h"),
    ("\x1b[=3;1u\x1b[=4;2u\x1b[=1;3u", "x"),
    ("\x1b[>4;2m", "\x1b[>4m"),
    ("\x1b[?1000h\x1b[?1002h\x1b[?1006h", "\x1b[?1002l"),
    ("\x1b[?1002h\x1b[?1000h", "\x1b[?1000l"),
    ("\x1b[?25l\x1b[5 q\x1b[?1004h\x1b[?2004h", "\x1b[?25h"),
    ("\x1b=\x1b[?1h", "\x1b>\x1b[?1l"),
    // The whole terminal.
    ("text\x1b[31m\x1b[?25l\x1b[5;9r\x1b[>1u\x1bc", "text"),
    ("\x1b#8", "text"),
    ("e\u{301}o\u{308}\u{fffd}🦀\r\n👩\u{200d}🚀", "text"),
];

#[test]
fn an_attached_terminal_follows_what_was_set_before() {
    let mut failures = Vec::new();
    for (before, after) in CASES {
        let mut attach = Attach::after(before.as_bytes(), SIZE);
        let mut note = |when, differences: Vec<String>| {
            if !differences.is_empty() {
                failures.push(format!(
                    "{before:?} {when} {after:?}:\n{}",
                    differences.join("\n")
                ));
            }
        };
        note("before", attach.differences());
        attach.show(after.as_bytes());
        note("and then", attach.differences());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
