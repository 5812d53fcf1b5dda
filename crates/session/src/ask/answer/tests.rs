//! A thousand hostile outputs: every way to spoil a part, in every place, around an answer that
//! counts or none.

use super::super::json::MAX_DEPTH;
use super::*;

const NONCE: &str = "5f1c9a7be2d04836";
const ANSWER: &str = "{\"status\":\"success\",\"result\":\"yes\"}";

fn start() -> String {
    Sentinels::of_nonce(NONCE).start
}

fn end() -> String {
    Sentinels::of_nonce(NONCE).end
}

fn read(output: &[u8], chunk: usize) -> Option<String> {
    let mut parser = AnswerParser::new(Sentinels::of_nonce(NONCE));
    output.chunks(chunk).for_each(|bytes| parser.push(bytes));
    parser.finish()
}

fn bytes(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// A whole pair around `text`.
fn pair(text: &[u8]) -> Vec<u8> {
    bytes(&[
        start().as_bytes(),
        b"\n",
        text,
        b"\n",
        end().as_bytes(),
        b"\n",
    ])
}

/// Texts that are no answer, whatever is around them.
fn no_answers() -> Vec<Vec<u8>> {
    let deep = |open: &str, close: &str| {
        let (open, close) = (open.repeat(MAX_DEPTH), close.repeat(MAX_DEPTH));
        format!("{{\"a\":{open}1{close}}}").into_bytes()
    };
    let mut texts: Vec<Vec<u8>> = [
        "",
        " ",
        "{",
        "}",
        "{}{}",
        "{} {}",
        "[]",
        "[{}]",
        "null",
        "1",
        "\"{}\"",
        "{a:1}",
        "{'a':1}",
        "{\"a\":1,}",
        "{\"a\":1,\"a\":2}",
        "{\"b\":{\"a\":1,\"\\u0061\":2}}",
        "{\"a\":\"\\u0000\"}",
        "{\"a\":\"\0\"}",
        "\0{}",
        "{}\0",
        "\u{1b}[32m{}\u{1b}[0m",
        "\u{feff}{}",
        "{\"a\":NaN}",
        "{\"a\":01}",
        "{\"a\":\"\n\"}",
        "{\"a\":\"\\ud800\"}",
        "```json\n{}\n```",
        "// a\n{}",
        "answer: {}",
        "{\"a\":tru}",
        "{\"a\":\"\u{1b}\"}",
        "\u{a0}{}",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    texts.push(b"{\"a\":\"\xff\"}".to_vec());
    texts.push(b"\xff\xfe{}".to_vec());
    texts.push(b"{\"a\":\"\xc3\"}".to_vec());
    texts.push(b"{\"a\":\"\xed\xa0\x80\"}".to_vec());
    texts.push(deep("[", "]"));
    texts.push(deep("{\"a\":", "}"));
    texts
}

/// Lines that look like a sentinel and are none.
fn no_sentinels(real: &str) -> Vec<Vec<u8>> {
    let other = real.replace(NONCE, "0000000000000000");
    let bare = real.replace(&format!(":{NONCE}"), "");
    let texts = [
        other.clone(),
        bare,
        real.replace(NONCE, ""),
        real.replace(NONCE, &NONCE.to_uppercase()),
        real.replace(NONCE, &NONCE[1..]),
        real.replace(NONCE, &format!("{NONCE}0")),
        format!(" {real}"),
        format!("{real} "),
        format!("\t{real}"),
        format!("> {real}"),
        format!("{real}{real}"),
        format!("\u{1b}[1m{real}\u{1b}[0m"),
        format!("{real}\u{1b}[0m"),
        format!("\0{real}"),
        format!("{real}\0"),
        format!("{real}\r\r"),
        format!("\r{real}"),
        format!("\u{200b}{real}"),
        format!("\u{feff}{real}"),
        real.replace('-', "\u{2010}"),
        real.to_lowercase(),
        real.replace("LAZARET", "NOVABOT"),
        real[..real.len() - 1].to_owned(),
        real[1..].to_owned(),
        format!("{{\"text\":\"{real}\"}}"),
    ];
    let mut lines: Vec<Vec<u8>> = texts.into_iter().map(String::into_bytes).collect();
    lines.push(bytes(&[b"\xff", real.as_bytes()]));
    lines.push(bytes(&[real.as_bytes(), b"\xff"]));
    lines
}

/// Output that holds no answer: a name of its kind, and the bytes.
fn noise() -> Vec<(&'static str, Vec<u8>)> {
    let (start, end) = (start(), end());
    let mut all: Vec<(&'static str, Vec<u8>)> = Vec::new();
    for text in no_answers() {
        all.push(("a pair that holds no answer", pair(&text)));
        all.push(("a text without a pair", bytes(&[&text, b"\n"])));
        all.push(("a half", bytes(&[end.as_bytes(), b"\n", &text, b"\n"])));
    }
    for line in no_sentinels(&start) {
        let parts: &[&[u8]] = &[&line, b"\n{}\n", end.as_bytes(), b"\n"];
        all.push(("a forged start", bytes(parts)));
    }
    for line in no_sentinels(&end) {
        // What is open goes on: closed by a real end, it holds more than an object.
        let parts: &[&[u8]] = &[
            start.as_bytes(),
            b"\n{}\n",
            &line,
            b"\n",
            end.as_bytes(),
            b"\n",
        ];
        all.push(("a forged end", bytes(parts)));
    }
    all.push(("a lone end", bytes(&[end.as_bytes(), b"\n"])));
    all.push((
        "a swapped pair",
        bytes(&[end.as_bytes(), b"\n{}\n", end.as_bytes(), b"\n"]),
    ));
    all.push((
        "one line",
        bytes(&[start.as_bytes(), b"{}", end.as_bytes(), b"\n"]),
    ));
    all
}

#[test]
fn a_thousand_hostile_outputs() {
    let mut rows = 0;
    let mut check = |kind: &str, output: &[u8], expected: Option<&str>| {
        for chunk in [1, 7, output.len().max(1)] {
            let found = read(output, chunk);
            assert_eq!(
                found.as_deref(),
                expected,
                "{kind}, by {chunk}: {:?}",
                String::from_utf8_lossy(output)
            );
        }
        rows += 1;
    };
    let real = pair(ANSWER.as_bytes());
    let crlf = String::from_utf8(real.clone())
        .unwrap()
        .replace('\n', "\r\n");
    let unended = real.strip_suffix(b"\n").unwrap().to_vec();
    let earlier = pair(b"{\"earlier\":1}");
    for (kind, noise) in noise() {
        check(kind, &noise, None);
        check(kind, &bytes(&[&noise, &real]), Some(ANSWER));
        check(kind, &bytes(&[&real, &noise]), Some(ANSWER));
        check(
            kind,
            &bytes(&[&noise, crlf.as_bytes(), &noise]),
            Some(ANSWER),
        );
        check(
            kind,
            &bytes(&[&earlier, &noise, &real, &noise]),
            Some(ANSWER),
        );
        check(
            kind,
            &bytes(&[&noise, &earlier, &noise, &unended]),
            Some(ANSWER),
        );
    }
    assert!(rows >= 1000, "{rows}");
}

#[test]
fn a_start_inside_a_pair_begins_anew() {
    let (start, end) = (start(), end());
    let nested = format!("{start}\n{{\"a\":1}}\n{start}\n{ANSWER}\n{end}\n{{\"b\":1}}\n{end}\n");
    assert_eq!(read(nested.as_bytes(), 5).as_deref(), Some(ANSWER));
    // What was begun and not ended takes nothing away from what came before.
    let half = format!("{start}\n{ANSWER}\n{end}\n{start}\n{{\"half\":1}}\n");
    assert_eq!(read(half.as_bytes(), 5).as_deref(), Some(ANSWER));
}

#[test]
fn an_answer_may_have_many_lines_and_comes_on_one() {
    let many = pair(b"\n{\n  \"status\" : \"success\",\r\n\t\"result\": \"a b\"\n}\n\n");
    let expected = "{\"status\":\"success\",\"result\":\"a b\"}";
    assert_eq!(read(&many, 3).as_deref(), Some(expected));
}

#[test]
fn a_profile_may_have_its_own_sentinels() {
    let sentinels = Sentinels {
        start: "---NOVABOT_OUTPUT_START---".to_owned(),
        end: "---NOVABOT_OUTPUT_END---".to_owned(),
    };
    let mut parser = AnswerParser::new(sentinels);
    parser.push(b"log\n---NOVABOT_OUTPUT_START---\n{\"status\":\"success\",\"result\":\"4\"}\n");
    parser.push(b"---NOVABOT_OUTPUT_END---\nbye");
    let expected = "{\"status\":\"success\",\"result\":\"4\"}";
    assert_eq!(parser.finish().as_deref(), Some(expected));
}

#[test]
fn what_is_too_long_is_noise_and_is_not_held() {
    let mut parser = AnswerParser::new(Sentinels::of_nonce(NONCE));
    let line = vec![b'x'; 1 << 20];
    for _ in 0..20 {
        parser.push(&line);
        assert!(parser.line.bytes.len() <= MAX_ANSWER);
    }
    parser.push(b"\n");
    // An answer that is too long is none, by one line or by many.
    let of = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8)).into_bytes();
    parser.push(&pair(&of(MAX_ANSWER + 1)));
    parser.push(format!("{}\n{{\n", start()).as_bytes());
    for _ in 0..(MAX_ANSWER / 1000 + 1) {
        parser.push(&[b' '; 999]);
        parser.push(b"\n");
    }
    parser.push(format!("}}\n{}\n", end()).as_bytes());
    assert_eq!(parser.answer, None);
    parser.push(&pair(&of(MAX_ANSWER - 1)));
    assert_eq!(
        parser.finish().map(|answer| answer.len()),
        Some(MAX_ANSWER - 1)
    );
}
