//! The shapes in which a secret is looked for.
//!
//! | shape | taken into account |
//! |---|---|
//! | as it is, escaped | each byte by itself, `%XX` (RFC 3986, 2.1; also `%25XX`), `\u00XX`, `\xXX`, a backslash before it (RFC 8259, 7), up to three of them |
//! | base64 | RFC 4648, 4 and 5, at each of the three alignments, the bits of the bytes beside it included; broken into lines (RFC 2045, 6.8) by LF, CRLF, or either of them as an escape of JSON; `+` and `/` escaped |
//! | base64 of base64 | the same, at nine alignments |
//! | hexadecimal | either case, bytes apart by nothing, a blank, a colon or `\x`; broken into lines |
//!
//! Where a line ends after no more than two characters of an encoded secret, those two stay.
//! Not looked for: compression, other encodings, encryption, a secret reversed or spread over
//! records of another format (`xxd`'s columns, one character in each event of a stream).

use super::LONGEST_SHAPE;
use super::set::ByteSet;

/// One way to write a unit.
type Spelling = Vec<ByteSet>;

/// A byte of a secret or a character of its encoding, in all the ways that it is written,
/// the plain one first.
pub(super) type Unit = Vec<Spelling>;

/// Units in a row.
pub(super) struct Encoding {
    pub(super) units: Vec<Unit>,
    /// What may stand between any two units.
    pub(super) gaps: Vec<Spelling>,
    /// How many bytes have to be there before a gap may come: the end of each line would be
    /// held back otherwise.
    pub(super) gap_after: u8,
    /// How many units at the front may be missing, since a line ended after them.
    pub(super) late: usize,
}

/// The parts of a secret that are looked for.
pub(super) fn parts(secret: &[u8]) -> Vec<&[u8]> {
    match secret.len() > LONGEST_SHAPE {
        false => vec![secret],
        true => vec![
            &secret[..LONGEST_SHAPE],
            &secret[secret.len() - LONGEST_SHAPE..],
        ],
    }
}

/// All shapes of a value.
pub(super) fn of(value: &[u8]) -> Vec<Encoding> {
    let mut encodings = vec![escaped(value), hexadecimal(value)];
    for alignment in 0..3 {
        encodings.push(base64(value, alignment));
        for alphabet in [STANDARD, URL] {
            let inner = core(value, alignment, alphabet);
            // Most values are the same in both alphabets.
            if alphabet == URL && inner == core(value, alignment, STANDARD) {
                continue;
            }
            encodings.extend((0..3).map(|outer| base64(&inner, outer)));
        }
    }
    encodings
}

fn exactly(bytes: &[u8]) -> Spelling {
    bytes.iter().map(|&byte| ByteSet::of(&[byte])).collect()
}

/// Two digits of either case.
fn digits(byte: u8) -> Spelling {
    let digit = |value: u8| {
        let digit = b"0123456789abcdef"[usize::from(value & 15)];
        ByteSet::of(&[digit, digit.to_ascii_uppercase()])
    };
    vec![digit(byte >> 4), digit(byte)]
}

fn after(prefix: &[u8], rest: Spelling) -> Spelling {
    let mut way = exactly(prefix);
    way.extend(rest);
    way
}

fn escaped(value: &[u8]) -> Encoding {
    let unit = |&byte: &u8| {
        let mut unit = vec![
            exactly(&[byte]),
            after(b"%", digits(byte)),
            after(b"%25", digits(byte)),
        ];
        let letter = match byte {
            b'"' | b'\'' | b'/' | b'\\' => Some(byte),
            b'\n' => Some(b'n'),
            b'\r' => Some(b'r'),
            b'\t' => Some(b't'),
            _ => None,
        };
        // A text in JSON in JSON has its backslashes doubled.
        for slashes in [&b"\\"[..], b"\\\\", b"\\\\\\"] {
            unit.push(after(slashes, after(b"u00", digits(byte))));
            unit.push(after(slashes, after(b"x", digits(byte))));
            unit.extend(letter.map(|letter| after(slashes, exactly(&[letter]))));
        }
        unit
    };
    Encoding {
        units: value.iter().map(unit).collect(),
        gaps: Vec::new(),
        gap_after: 0,
        late: 0,
    }
}

fn hexadecimal(value: &[u8]) -> Encoding {
    let unit = |(index, &byte): (usize, &u8)| {
        let mut unit = vec![digits(byte)];
        if index > 0 {
            unit.extend([&b" "[..], b":", b"\\x"].map(|apart| after(apart, digits(byte))));
        }
        unit
    };
    Encoding {
        units: value.iter().enumerate().map(unit).collect(),
        gaps: line_breaks(),
        gap_after: 4,
        late: 1,
    }
}

fn line_breaks() -> Vec<Spelling> {
    [&b"\n"[..], b"\r\n", b"\\n", b"\\r\\n"]
        .map(exactly)
        .to_vec()
}

type Alphabet = &'static [u8; 64];

const STANDARD: Alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: Alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// `value` in base64, `alignment` bytes into a group of three. The first and the last
/// character may hold bits of the bytes beside it.
fn base64(value: &[u8], alignment: usize) -> Encoding {
    let units = sextets(value, alignment).map(|Sextet { bits, known }| {
        let fits = (0..64u8).filter(|candidate| candidate & known == bits);
        let (mut plain, mut unit) = (Vec::new(), vec![Vec::new()]);
        for index in fits.map(usize::from) {
            plain.extend([STANDARD[index], URL[index]]);
            unit.extend(match STANDARD[index] {
                b'+' => vec![after(b"%2", vec![ByteSet::of(b"Bb")])],
                b'/' => vec![after(b"%2", vec![ByteSet::of(b"Ff")]), exactly(b"\\/")],
                _ => Vec::new(),
            });
        }
        unit[0] = vec![ByteSet::of(&plain)];
        unit
    });
    Encoding {
        units: units.collect(),
        gaps: line_breaks(),
        gap_after: 3,
        late: 2,
    }
}

/// The characters of base64 that depend on `value` alone.
fn core(value: &[u8], alignment: usize, alphabet: Alphabet) -> Vec<u8> {
    sextets(value, alignment)
        .filter(|sextet| sextet.known == 63)
        .map(|sextet| alphabet[usize::from(sextet.bits)])
        .collect()
}

/// Six bits, and which of them are known.
struct Sextet {
    bits: u8,
    known: u8,
}

/// The sextets that hold a bit of `value`.
fn sextets(value: &[u8], alignment: usize) -> impl Iterator<Item = Sextet> {
    let begin = alignment * 8;
    let end = begin + value.len() * 8;
    (begin / 6..end.div_ceil(6)).map(move |index| {
        let mut sextet = Sextet { bits: 0, known: 0 };
        for bit in index * 6..index * 6 + 6 {
            sextet.bits <<= 1;
            sextet.known <<= 1;
            if (begin..end).contains(&bit) {
                let at = bit - begin;
                sextet.bits |= value[at / 8] >> (7 - at % 8) & 1;
                sextet.known |= 1;
            }
        }
        sextet
    })
}
