//! The answer among what a command prints: the one that the simplest reader finds, however the
//! output is cut.

use lazaret_session::ask::answer::{AnswerParser, Sentinels};
use lazaret_session::ask::json::object;

use crate::input::Input;

const START: &[u8] = b"-S-";
const END: &[u8] = b"-E-";

fn parser() -> AnswerParser {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    AnswerParser::new(Sentinels {
        start: text(START),
        end: text(END),
    })
}

/// The first byte says how the rest is cut.
pub(crate) fn found(bytes: &[u8]) {
    let mut input = Input(bytes);
    let size = usize::from(input.byte() % 16) + 1;
    let output = input.0;
    let pairs = pairs(output);
    let last = pairs.iter().rev().find_map(|pair| object(pair).ok());
    let mut parser = self::parser();
    parser.push(output);
    let whole = parser.finish();
    assert_eq!(whole, last, "the last whole pair that holds an object");
    let mut parser = self::parser();
    output.chunks(size).for_each(|piece| parser.push(piece));
    assert_eq!(parser.finish(), whole, "in pieces");
    if let Some(answer) = whole {
        assert!(!answer.contains(['\n', '\r']), "one line");
        assert_eq!(object(answer.as_bytes()).as_deref(), Ok(&*answer));
    }
    until_the_first_pair(output, size);
}

/// A turn that ends with its first pair gets that, and nothing of what follows.
fn until_the_first_pair(output: &[u8], size: usize) {
    let ended = |size: usize| {
        let mut parser = self::parser();
        let mut read = 0;
        for piece in output.chunks(size.max(1)) {
            read += piece.len();
            if let Some(rest) = parser.push_to_end(piece) {
                return Some((read - rest.len(), parser.finish()));
            }
        }
        None
    };
    let at_once = ended(output.len());
    assert_eq!(ended(size), at_once, "in pieces");
    if let Some((end, answer)) = at_once {
        let pairs = pairs(&output[..end]);
        assert_eq!(pairs.len(), 1, "the first pair");
        assert_eq!(answer, object(&pairs[0]).ok());
    }
}

/// Returns what lies between sentinels that are whole lines. The last line may lack its end.
fn pairs(output: &[u8]) -> Vec<Vec<u8>> {
    let mut pairs = Vec::new();
    let mut inside: Option<Vec<u8>> = None;
    for line in output.split(|byte| *byte == b'\n') {
        let text = line.strip_suffix(b"\r").unwrap_or(line);
        if text == START {
            inside = Some(Vec::new());
        } else if text == END {
            pairs.extend(inside.take());
        } else if let Some(inside) = &mut inside {
            inside.extend_from_slice(line);
            inside.push(b'\n');
        }
    }
    pairs
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    [
        "\u{2}noise\n-S-\n{\"a\": 1}\n-E-\nnoise",
        "\u{0}-S-\r\n{\"a\":\r\n[\"\\u0000\"]}\r\n-E-\r\n-S-\n{}\n-E-",
        "\u{f}-E-\n-S-\n-S-\n{\"a\":{\"a\":1,\"a\":2}}\n-E-\n-E-\n-S-\n{}",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// Pieces of sentinels and of objects.
pub(crate) const WORDS: &[&[u8]] = &[
    b"-S-\n",
    b"-E-\n",
    b"\n-S-\r\n",
    b"\n-E-\r\n",
    b" -S-\n",
    b"{}",
    b"{\"a\":1}",
    b"{\"a\":[",
    b"]}",
    b"\"a\":",
    b"\\u0000",
    b"\\\"",
    b"\xff",
    b"\0",
    b"\r",
    b"\n",
];
