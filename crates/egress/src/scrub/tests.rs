//! NET-20 and NET-21, and what a scrubber promises of its streams.

use lazaret_tests::Random;

use super::{Patterns, Scrubber, TooShort};

const KEY: &str = "sk-ant-api03-q7/Zx+0oLmN_PqRsT-uVwXyZ\"12345";

fn patterns() -> Patterns {
    Patterns::new([("KEY", KEY.as_bytes())]).expect("it is long enough")
}

fn scrubbed(text: &str) -> String {
    String::from_utf8(patterns().scrub(text.as_bytes())).expect("text stays text")
}

/// `text`, pushed in pieces that `next` measures.
fn pieces(patterns: &Patterns, text: &[u8], mut next: impl FnMut() -> usize) -> Vec<u8> {
    let mut scrubber = Scrubber::new(patterns.clone());
    let (mut out, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(next().clamp(1, rest.len()));
        scrubber.push(piece, &mut out);
        rest = behind;
    }
    scrubber.finish(&mut out);
    out
}

/// base64, written a second time, by division instead of by bits.
fn base64(bytes: &[u8], alphabet: &[u8; 64], pad: bool) -> String {
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let number = group
            .iter()
            .chain(&[0, 0])
            .take(3)
            .fold(0, |number, &byte| number * 256 + usize::from(byte));
        let digits = [
            number / 262_144,
            number / 4096 % 64,
            number / 64 % 64,
            number % 64,
        ];
        for (index, digit) in digits.iter().enumerate() {
            match index <= group.len() {
                true => text.push(char::from(alphabet[*digit])),
                false if pad => text.push('='),
                false => {}
            }
        }
    }
    text
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn percent(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("%{byte:02X}")).collect()
}

/// Breaks a text into lines.
fn wrapped(text: &str, columns: usize, line_end: &str) -> String {
    let lines = text.as_bytes().chunks(columns);
    let lines = lines.map(|line| std::str::from_utf8(line).expect("it is ASCII"));
    lines.collect::<Vec<_>>().join(line_end)
}

/// The shapes of the key, with something before and after it inside of each.
fn encodings() -> Vec<(String, String)> {
    let mut encodings = Vec::new();
    let mut add = |name: &str, text: String| encodings.push((name.to_owned(), text));
    add("verbatim", KEY.to_owned());
    add("hex", hex(KEY.as_bytes()));
    add("HEX", hex(KEY.as_bytes()).to_uppercase());
    add("hex in lines", wrapped(&hex(KEY.as_bytes()), 60, "\n"));
    let apart = |between: &str| wrapped(&hex(KEY.as_bytes()), 2, between);
    add("hex with colons", apart(":"));
    add("hex with blanks", apart(" "));
    add("bytes of a shell", format!("\\x{}", apart("\\x")));
    add("percent", percent(KEY.as_bytes()));
    add("percent, lower", percent(KEY.as_bytes()).to_lowercase());
    let where_needed: String = KEY
        .chars()
        .map(|char| match char {
            '/' | '+' | '"' => percent(&[char as u8]),
            _ => char.to_string(),
        })
        .collect();
    add("percent, where needed", where_needed.clone());
    add("percent, twice", where_needed.replace('%', "%25"));
    add("JSON", KEY.replace('"', "\\\"").replace('/', "\\/"));
    add("JSON in JSON", KEY.replace('"', "\\\\\\\""));
    let unicode = KEY.bytes().map(|byte| format!("\\u00{byte:02x}"));
    add("\\u", unicode.collect());
    for before in ["", "x", "xy"] {
        for behind in [
            "",
            ",",
            ", and more of it that is no secret at all, but long",
        ] {
            let plain = format!("{before}{KEY}{behind}");
            for (alphabet, name) in [(STANDARD, "standard"), (URL, "url")] {
                for pad in [true, false] {
                    let once = base64(plain.as_bytes(), alphabet, pad);
                    let name = format!("base64 {name} of {before}KEY{behind}, padded: {pad}");
                    add(&name, once.clone());
                    for prefix in ["", "x", "xy"] {
                        let outer = format!("{prefix}{once}");
                        let twice = base64(outer.as_bytes(), alphabet, pad);
                        add(&format!("{name}, twice, {prefix}"), twice);
                    }
                    for (columns, line_end) in
                        [(64, "\n"), (76, "\r\n"), (76, "\\n"), (64, "\\r\\n")]
                    {
                        let long = format!("{}{before}{KEY}{behind}", "-".repeat(30));
                        let text = base64(long.as_bytes(), alphabet, pad);
                        let text = wrapped(&text, columns, line_end);
                        add(&format!("{name}, at {columns}"), text);
                    }
                    let escaped = once.replace('+', "%2B").replace('/', "%2F");
                    add(
                        &format!("{name}, in an address"),
                        escaped.replace('=', "%3D"),
                    );
                    add(&format!("{name}, in JSON"), once.replace('/', "\\/"));
                }
            }
        }
    }
    encodings
}

/// No six bytes of the key, in any plain reading, are left.
fn assert_gone(name: &str, text: &str, out: &str) {
    assert!(out.contains("[secret KEY]"), "{name}: {text} became {out}");
    let left = out.replace("[secret KEY]", "");
    let forms = [
        KEY.to_owned(),
        hex(KEY.as_bytes()),
        hex(KEY.as_bytes()).to_uppercase(),
        percent(KEY.as_bytes()),
    ];
    let aligned = ["", "x", "xy"].map(|before| {
        let text = base64(format!("{before}{KEY}").as_bytes(), STANDARD, false);
        text[before.len() + 1..].to_owned()
    });
    for form in forms.iter().chain(&aligned) {
        for window in form.as_bytes().windows(12) {
            let window = std::str::from_utf8(window).expect("it is ASCII");
            assert!(!left.contains(window), "{name}: {window} is left in {out}");
        }
    }
}

#[test]
fn net_20_a_secret_is_replaced_in_every_shape() {
    for (name, text) in encodings() {
        let line = format!("before it {text} behind it\n");
        let out = scrubbed(&line);
        assert_gone(&name, &line, &out);
        assert!(out.starts_with("before it "), "{name}: {out}");
        assert!(out.ends_with(" behind it\n"), "{name}: {out}");
    }
}

#[test]
fn net_21_it_does_not_matter_where_a_stream_is_cut() {
    let patterns = patterns();
    let mut random = Random::new(21);
    for (name, text) in encodings() {
        let line = format!("sk-ant- {text}{KEY}\r\n{text}sk-ant-api03");
        let whole = patterns.scrub(line.as_bytes());
        assert_eq!(pieces(&patterns, line.as_bytes(), || 1), whole, "{name}");
        for _ in 0..2 {
            let cut = pieces(&patterns, line.as_bytes(), || 1 + random.below(40));
            assert_eq!(cut, whole, "{name}");
        }
    }
}

/// Any bytes, made of parts of secrets and their shapes: cut at random they become what
/// they become as a whole, and without a secret nothing changes.
#[test]
fn net_21_random_streams_come_out_alike_however_they_are_cut() {
    let secrets = [
        ("REPEATS", &b"abababab"[..]),
        ("LONGER", b"ababababab%61"),
        ("RANDOM", b"\x00\xff\"\\/+-_ \nz0"),
    ];
    let patterns = Patterns::new(secrets).expect("they are long enough");
    let mut parts: Vec<Vec<u8>> = vec![b"a".to_vec(), b"b".to_vec(), b"\n".to_vec(), b"%".to_vec()];
    for (_, secret) in secrets {
        parts.push(secret.to_vec());
        parts.push(hex(secret).into_bytes());
        parts.push(percent(secret).into_bytes());
        parts.push(base64(secret, STANDARD, true).into_bytes());
    }
    let mut random = Random::new(20);
    for _ in 0..400 {
        let mut text = Vec::new();
        for _ in 0..random.below(12) {
            let part = &parts[random.below(parts.len())];
            text.extend_from_slice(&part[..random.below(part.len() + 1)]);
            text.extend_from_slice(&part[random.below(part.len())..]);
        }
        let whole = patterns.scrub(&text);
        assert_eq!(pieces(&patterns, &text, || 1), whole, "{text:?}");
        let cut = pieces(&patterns, &text, || 1 + random.below(9));
        assert_eq!(cut, whole, "{text:?}");
        for (name, secret) in secrets {
            let left = whole.windows(secret.len()).any(|window| window == secret);
            assert!(!left, "{name} is left of {text:?}");
        }
        if !String::from_utf8_lossy(&whole).contains("[secret ") {
            assert_eq!(whole, text);
        }
    }
}

#[test]
fn what_can_be_no_secret_goes_at_once() {
    let mut scrubber = Scrubber::new(patterns());
    let mut pushed = |text: &str| {
        let mut out = Vec::new();
        scrubber.push(text.as_bytes(), &mut out);
        String::from_utf8(out).expect("it is text")
    };
    assert_eq!(pushed("an ordinary line\n"), "an ordinary line\n");
    assert_eq!(pushed("a prompt> "), "a prompt> ");
    assert_eq!(pushed("key sk-ant-"), "key ");
    assert_eq!(pushed("?! "), "sk-ant-?! ");
    assert_eq!(pushed(&KEY[..20]), "");
    assert_eq!(pushed(&KEY[20..]), "[secret KEY]");
    assert_eq!(pushed(KEY), "[secret KEY]");
}

#[test]
fn what_is_held_back_at_the_end_is_not_lost() {
    assert_eq!(scrubbed("sk-ant-api03-"), "sk-ant-api03-");
    assert_eq!(scrubbed(""), "");
}

#[test]
fn no_stream_makes_it_hold_back_more_than_a_shape() {
    let patterns = Patterns::new([("A", &b"aaaaaaaa"[..])]).expect("it is long enough");
    let mut scrubber = Scrubber::new(patterns);
    let mut out = Vec::new();
    for _ in 0..2000 {
        scrubber.push(&[b'a'; 512], &mut out);
        scrubber.push(b"6161\n", &mut out);
        assert!(scrubber.held.len() < 4096, "{}", scrubber.held.len());
    }
    scrubber.finish(&mut out);
    assert!(!out.windows(8).any(|window| window == b"aaaaaaaa"));
}

#[test]
fn two_secrets_keep_their_names() {
    let secrets = [
        ("ONE", &b"first-secret"[..]),
        ("TWO", b"first-secret-and-more"),
    ];
    let patterns = Patterns::new(secrets).expect("they are long enough");
    assert_eq!(
        patterns.scrub(b"first-secret, first-secret-and-more"),
        b"[secret ONE], [secret TWO]"
    );
}

#[test]
fn a_long_secret_is_found_by_its_ends() {
    let mut random = Random::new(3);
    let secret: Vec<u8> = (0..5000).map(|_| b'!' + (random.below(90) as u8)).collect();
    let patterns = Patterns::new([("LONG", &secret[..])]).expect("it is long enough");
    let out = patterns.scrub(&secret);
    for end in [&secret[..20], &secret[4980..]] {
        assert!(!out.windows(20).any(|window| window == end));
    }
}

#[test]
fn a_short_secret_is_refused_without_being_shown() {
    let error = Patterns::new([("PIN", &b"1234567"[..])]).expect_err("it is too short");
    let TooShort { name } = &error;
    assert_eq!(name, "PIN");
    assert!(error.to_string().contains("shorter than 8 bytes"));
    assert!(!error.to_string().contains("1234567"));
}

#[test]
fn net_22_nothing_of_a_secret_is_in_what_is_printed_of_a_scrubber() {
    let mut scrubber = Scrubber::new(patterns());
    scrubber.push(&KEY.as_bytes()[..30], &mut Vec::new());
    let shown = format!("{scrubber:?} {:?}", patterns());
    assert!(
        shown.contains("KEY") && !shown.contains("sk-ant"),
        "{shown}"
    );
}
