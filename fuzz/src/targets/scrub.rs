//! The scrubber: the same however a stream is cut, and nothing but secrets is replaced.

use std::sync::LazyLock;

use lazaret_egress::{Patterns, Scrubber};

use crate::input::Input;

const SECRETS: [(&str, &[u8]); 3] = [
    ("REPEATS", b"abababab"),
    ("LONGER", b"ababababab/61"),
    ("OTHER", b"sk-canary+0123"),
];

static PATTERNS: LazyLock<Patterns> =
    LazyLock::new(|| Patterns::new(SECRETS).expect("they are long enough"));

/// The first byte says how the rest is cut.
pub(crate) fn scrubbed(bytes: &[u8]) {
    let mut input = Input(bytes);
    let size = usize::from(input.byte() % 16) + 1;
    let stream = input.0;
    let whole = PATTERNS.scrub(stream);
    let mut scrubber = Scrubber::new(PATTERNS.clone());
    let mut cut = Vec::new();
    for piece in stream.chunks(size) {
        scrubber.push(piece, &mut cut);
    }
    scrubber.finish(&mut cut);
    assert_eq!(cut, whole);
    for (name, secret) in SECRETS {
        let left = whole.windows(secret.len()).any(|window| window == secret);
        assert!(!left, "{name} is left");
    }
    let replaces = whole.windows(8).any(|window| window == b"[secret ");
    if !replaces {
        assert_eq!(whole, stream);
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    [
        "\u{3}before sk-canary+0123 behind",
        "\u{1}YWJhYmFiYWI=\nYWJh\nYmFiYWI=",
        "\u{5}6162616261626162 %61b%61bababab",
        "\u{0}abababababababab",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// Pieces of secrets and of their shapes.
pub(crate) const WORDS: &[&[u8]] = &[
    b"abababab",
    b"ab",
    b"sk-canary",
    b"+0123",
    b"%61",
    b"\\u0061",
    b"YWJh",
    b"YmFi",
    b"6162",
    b"\r\n",
    b"\\n",
    b"c2stY2FuYXJ5KzAxMjM",
];
