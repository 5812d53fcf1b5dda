//! Keys in each encoding, however reads cut them.

use super::KeyAction::{Detach, End, Take};
use super::{DetachKeys, KeyAction};

/// The actions as text, when reads bring `size` bytes each.
fn read(input: &[u8], size: usize) -> String {
    let mut keys = DetachKeys::default();
    let mut actions = Vec::new();
    for chunk in input.chunks(size) {
        for action in keys.read(chunk) {
            match action {
                KeyAction::Forward(bytes) => super::forward(bytes, &mut actions),
                action => actions.push(action),
            }
        }
    }
    shown(&actions)
}

fn shown(actions: &[KeyAction]) -> String {
    let words: Vec<String> = actions
        .iter()
        .map(|action| match action {
            KeyAction::Forward(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
            action => format!("{action:?}"),
        })
        .collect();
    words.join(" ")
}

#[track_caller]
fn check(input: &str, expected: &[KeyAction]) {
    for size in [1, 2, 3, 5, 7, input.len().max(1)] {
        assert_eq!(
            read(input.as_bytes(), size),
            shown(expected),
            "{input:?} in reads of {size}"
        );
    }
}

fn forwarded(text: &str) -> KeyAction {
    KeyAction::Forward(text.into())
}

#[test]
fn commands_follow_the_prefix() {
    check("ls\r\x03\x1b[A", &[forwarded("ls\r\x03\x1b[A")]);
    check("ab\x1dd", &[forwarded("ab"), Detach]);
    check("\x1dD", &[Detach]);
    check("\x1dtx", &[Take, forwarded("x")]);
    check("\x1dk", &[End]);
    check("\x1dxd", &[forwarded("\x1dxd")]);
    check("\x1d\x04", &[forwarded("\x1d\x04")]);
    check("\x1d\x1b[Ad", &[forwarded("\x1d\x1b[Ad")]);
    check("\x1dé", &[forwarded("\x1dé")]);
    check("\x1d", &[]);
}

#[test]
fn two_prefixes_are_one_for_the_command_and_three_end_it() {
    check("\x1d\x1d", &[forwarded("\x1d")]);
    check("\x1d\x1dd", &[forwarded("\x1dd")]);
    check("\x1d\x1d\x1d", &[forwarded("\x1d"), End]);
    check("\x1d\x1dx\x1d\x1d", &[forwarded("\x1dx\x1d")]);
    check(
        "\x1b[93;5u\x1b[93;5u\x1b[93;5u",
        &[forwarded("\x1b[93;5u"), End],
    );
}

#[test]
fn the_encodings_of_kitty_and_xterm_are_read() {
    for prefix in [
        "\x1b[93;5u",
        "\x1b[93;69u",
        "\x1b[93;133u",
        "\x1b[93;197u",
        "\x1b[93;5:1u",
        "\x1b[93:125;5u",
        "\x1b[93:125:93;5:1u",
        "\x1b[1098::93;5u",
        "\x1b[27;5;93~",
    ] {
        for key in [
            "d",
            "\x1b[100u",
            "\x1b[100;1u",
            "\x1b[100;65:1u",
            "\x1b[100;;100u",
        ] {
            check(&format!("{prefix}{key}"), &[Detach]);
        }
        check(&format!("{prefix}\x1b[1074::100;129u"), &[Detach]);
        let both = format!("{prefix}\x1b[100;5u");
        check(&both, &[forwarded(&both)]);
    }
    for other in [
        "\x1b[93;6u",
        "\x1b[93;7u",
        "\x1b[93u",
        "\x1b[93;13u",
        "\x1b[27;6;93~",
        "\x1b[53;5u",
        "\x1b[43::93;5u",
    ] {
        check(&format!("{other}d"), &[forwarded(&format!("{other}d"))]);
    }
}

#[test]
fn releases_and_repeats_decide_nothing() {
    let press = "\x1b[93;5:1u";
    let release = "\x1b[93;5:3u";
    check(&format!("{press}{release}\x1b[100;1:1u"), &[Detach]);
    // Ctrl is released first, and then says so itself.
    check(
        &format!("{press}\x1b[57442;1:3u\x1b[93;1:3u\x1b[116;1:1u\x1b[116;1:3u"),
        &[forwarded("\x1b[57442;1:3u"), Take],
    );
    // Held down: one prefix, and no end.
    let repeats = "\x1b[93;5:2u".repeat(9);
    check(&format!("{press}{repeats}{release}d"), &[Detach]);
    // The command gets the second press, so it gets its release.
    check(
        &format!("{press}{release}{press}{release}"),
        &[forwarded(&format!("{press}{release}"))],
    );
    // The release of a key from before.
    check(
        &format!("{press}\x1b[97;1:3ud"),
        &[forwarded("\x1b[97;1:3u"), Detach],
    );
    // Given up: the command gets press and release.
    check(
        &format!("{press}x{release}"),
        &[forwarded(&format!("{press}x{release}"))],
    );
}

#[test]
fn what_no_person_types_leaves_the_prefix_pending() {
    for report in [
        "\x1b[<35;10;20M",
        "\x1b[<0;10;20m",
        "\x1b[M !!",
        "\x1b[I",
        "\x1b[O",
        "\x1b[24;80R",
        "\x1b[?62;22c",
        "\x1b[?2026;2$y",
        "\x1b[0n",
        "\x1b[1;1:3A",
    ] {
        check(&format!("\x1d{report}d"), &[forwarded(report), Detach]);
    }
}

#[test]
fn nothing_in_a_paste_is_a_key() {
    let paste = "\x1b[200~a\x1dd\x1d\x1d\x1d\x1b[93;5ud\x1b[201\x1b[20\x1b[201~";
    check(paste, &[forwarded(paste)]);
    check(&format!("{paste}\x1dd"), &[forwarded(paste), Detach]);
    check(&format!("\x1d{paste}d"), &[forwarded(paste), Detach]);
    let open = "\x1b[200~\x1dd";
    check(open, &[forwarded(open)]);
}

#[test]
fn an_escape_is_held_back_until_the_tick_only() {
    let mut keys = DetachKeys::default();
    assert_eq!(keys.read(b"a\x1b"), [forwarded("a")]);
    assert_eq!(keys.flush(), [forwarded("\x1b")]);
    assert_eq!(keys.flush(), []);
    assert_eq!(keys.read(b"\x1dd"), [Detach]);

    assert_eq!(keys.read(b"\x1d\x1b"), []);
    assert_eq!(keys.flush(), [forwarded("\x1d\x1b")]);
    assert_eq!(keys.read(b"d"), [forwarded("d")]);

    assert_eq!(keys.read(b"\x1b\x1dd"), [forwarded("\x1b"), Detach]);
    assert_eq!(keys.read(b"\x1d"), []);
    assert!(keys.is_prefix_pending());
    assert_eq!(keys.flush(), []);
    assert_eq!(keys.read(b"d"), [Detach]);
}

#[test]
fn a_paste_that_a_tick_cut_is_still_a_paste() {
    let mut keys = DetachKeys::default();
    assert_eq!(keys.read(b"\x1b"), []);
    assert_eq!(keys.flush(), [forwarded("\x1b")]);
    assert_eq!(keys.read(b"[20"), []);
    assert_eq!(keys.flush(), [forwarded("[20")]);
    assert_eq!(keys.read(b"0~\x1dd"), [forwarded("0~\x1dd")]);
    assert_eq!(
        keys.read(b"\x1b[201~\x1dd"),
        [forwarded("\x1b[201~"), Detach]
    );
    // A key that was cut reaches the command whole.
    assert_eq!(keys.read(b"\x1b[93"), []);
    assert_eq!(keys.flush(), [forwarded("\x1b[93")]);
    assert_eq!(keys.read(b";5u"), [forwarded(";5u")]);
}

#[test]
fn another_key_is_the_prefix() {
    let read = |prefix: &str, input: &[u8]| {
        let mut keys = DetachKeys::with_prefix(prefix.parse().unwrap());
        shown(&keys.read(input))
    };
    for (prefix, input) in [
        ("ctrl-b", b"\x02d".as_slice()),
        ("ctrl-b", b"\x1b[98;5ud"),
        ("ctrl-b", b"\x1b[27;5;98~d"),
        ("ctrl-\\", b"\x1cd"),
        ("ctrl-@", b"\0d"),
        ("ctrl-^", b"\x1ed"),
    ] {
        assert_eq!(read(prefix, input), "Detach", "{prefix}");
    }
    assert_eq!(read("ctrl-b", b"\x1dd"), shown(&[forwarded("\x1dd")]));
    let literal = shown(&[forwarded("\x02")]);
    assert_eq!(read("ctrl-b", b"\x02\x02"), literal);
}

#[test]
fn no_byte_is_lost_or_made_up() {
    let mut random = lazaret_tests::Random::new(7);
    let words: [&[u8]; 9] = [
        b"\x1b",
        b"[",
        b"\x1b[200~",
        b"\x1b[201~",
        b"93;5u",
        b"x",
        b"\x1b[M",
        b"\xc3\xa9",
        b"\x1b[1;1H",
    ];
    for _ in 0..2000 {
        let input: Vec<u8> = (0..20)
            .flat_map(|_| words[random.below(9)].to_vec())
            .collect();
        if input.windows(7).any(|bytes| bytes == b"\x1b[93;5u") {
            continue;
        }
        let mut keys = DetachKeys::default();
        let mut out = Vec::new();
        let mut actions = Vec::new();
        for chunk in input.chunks(1 + random.below(6)) {
            actions.extend(keys.read(chunk));
            if random.below(3) == 0 {
                actions.extend(keys.flush());
            }
        }
        actions.extend(keys.flush());
        for action in actions {
            let KeyAction::Forward(bytes) = action else {
                panic!("{input:?} has no prefix");
            };
            out.extend(bytes);
        }
        assert_eq!(out, input);
    }
}
