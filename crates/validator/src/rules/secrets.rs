//! Secrets in what a change brings (SUS-28, G11): found, named by kind, path and line, and
//! never shown, not even in part.
//!
//! Nearly every file is done after one pass that looks for the words of all rows at once.

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::{Captures, Regex, RegexBuilder};

use super::found_lines::FoundLines;
use super::secret_table::{Need, SECRETS, Test};
use super::{Context, Opened};
use crate::Severity;
use crate::report::Report;

/// After this many secrets of one kind in one file the rest is not counted.
const MOST_MATCHES: usize = 1000;

struct Scanner {
    words: AhoCorasick,
    /// For each word, the row that it stands for.
    rows: Vec<usize>,
    patterns: Vec<LazyLock<Regex, Box<dyn Fn() -> Regex + Send + Sync>>>,
}

static SCANNER: LazyLock<Scanner> = LazyLock::new(|| {
    let words = SECRETS.iter().enumerate();
    let words = words.flat_map(|(row, secret)| secret.words.iter().map(move |word| (row, *word)));
    let (rows, words): (Vec<usize>, Vec<&str>) = words.unzip();
    let words = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(words)
        .unwrap_or_else(|error| unreachable!("the table is tested: {error}"));
    let patterns = SECRETS.iter().map(|secret| {
        let compile: Box<dyn Fn() -> Regex + Send + Sync> = Box::new(|| compile(secret.pattern));
        LazyLock::new(compile)
    });
    Scanner {
        words,
        rows,
        patterns: patterns.collect(),
    }
});

/// Tokens are ASCII, and a file may be anything.
fn compile(pattern: &str) -> Regex {
    RegexBuilder::new(pattern)
        .unicode(false)
        .build()
        .unwrap_or_else(|error| unreachable!("the table is tested: {error}"))
}

pub(super) fn check(_: &Context<'_>, opened: &Opened<'_>, report: &mut Report) {
    let Some(bytes) = opened.after().bytes() else {
        return;
    };
    let is_binary = bytes.contains(&0);
    let mut named = HashSet::new();
    for row in rows_in(bytes) {
        let (Some(secret), Some(pattern)) = (SECRETS.get(row), SCANNER.patterns.get(row)) else {
            continue;
        };
        // Names and values lie side by side in any program.
        if is_binary && secret.test == Test::Random {
            continue;
        }
        let mut known: Option<HashSet<&[u8]>> = None;
        let mut found = FoundLines::new(Severity::Warn, secret.code);
        let mut lines = Lines::new(bytes);
        for captures in pattern.captures_iter(bytes).take(MOST_MATCHES) {
            let (start, value) = secret_of(&captures);
            if !passes(secret.test, value) {
                continue;
            }
            // What was in the file before is not what this change brings.
            let known = known.get_or_insert_with(|| {
                let before = opened.before().bytes().unwrap_or_default();
                let known = pattern.captures_iter(before);
                known.map(|captures| secret_of(&captures).1).collect()
            });
            if known.contains(value) {
                continue;
            }
            let line = lines.number(start);
            let certain = secret.test != Test::Random;
            if named.insert((line, certain)) && (certain || !named.contains(&(line, true))) {
                found.add(line, || format!("looks like {}", secret.what));
            }
        }
        found.put(opened.path(), report);
    }
}

/// Which rows have a word in a text, in order.
fn rows_in(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let mut rows = vec![false; SECRETS.len()];
    for found in SCANNER.words.find_overlapping_iter(bytes) {
        let Some(&row) = SCANNER.rows.get(found.pattern().as_usize()) else {
            continue;
        };
        if let (Some(known), Some(secret)) = (rows.get_mut(row), SECRETS.get(row))
            && !*known
        {
            *known = follows(secret.need, bytes.get(found.end()..).unwrap_or_default());
        }
    }
    let rows = rows.into_iter().enumerate();
    rows.filter_map(|(row, found)| found.then_some(row))
}

/// Whether what a row needs follows a word: no more than its expression allows for.
fn follows(need: Need, rest: &[u8]) -> bool {
    match need {
        Need::Nothing => true,
        Need::Sign => {
            let mut rest = rest.get(..60).unwrap_or(rest).iter();
            let in_name = |byte: &u8| {
                byte.is_ascii_alphanumeric()
                    || byte.is_ascii_whitespace()
                    || matches!(byte, b'_' | b'-' | b'"' | b'\'' | b']' | 0x0b)
            };
            matches!(rest.find(|byte| !in_name(byte)), Some(b'=' | b':'))
        }
        Need::At => {
            let rest = rest.get(..200).unwrap_or(rest);
            let end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'@');
            let end = rest.iter().find(|byte| end(byte));
            end == Some(&b'@')
        }
    }
}

/// Where the match starts, and the secret in it.
fn secret_of<'a>(captures: &Captures<'a>) -> (usize, &'a [u8]) {
    let whole = captures.get(0);
    let secret = captures.name("s").or(whole);
    let start = whole.map_or(0, |whole| whole.start());
    (start, secret.map_or(&[][..], |secret| secret.as_bytes()))
}

/// Counts lines on the way through a text.
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u32,
}

impl<'a> Lines<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let (at, line) = (0, 1);
        Self { bytes, at, line }
    }

    /// Returns the line of an offset that is not before the last one.
    fn number(&mut self, offset: usize) -> u32 {
        let passed = self.bytes.get(self.at..offset).unwrap_or_default();
        let feeds = passed.iter().filter(|&&byte| byte == b'\n').count();
        self.line = self
            .line
            .saturating_add(u32::try_from(feeds).unwrap_or(u32::MAX));
        self.at = offset;
        self.line
    }
}

/// Parts of what people write where a secret will be.
const PLACEHOLDERS: &[&str] = &[
    "example",
    "changeme",
    "change_me",
    "change-me",
    "your",
    "xxxx",
    "placeholder",
    "dummy",
    "redacted",
    "insert",
    "replace",
    "secret",
    "password",
    "passwd",
    "token",
    "apikey",
    "api_key",
    "null",
    "undefined",
    "none",
    "todo",
    "sample",
    "fake",
    "mock",
    "test",
    "process.env",
    "getenv",
    "environ",
    "****",
    "....",
    "1234567",
    "abcdef",
];

fn passes(test: Test, secret: &[u8]) -> bool {
    let lower = secret.to_ascii_lowercase();
    let has = |word: &str| {
        lower
            .windows(word.len())
            .any(|part| part == word.as_bytes())
    };
    match test {
        Test::Varied => {
            let kinds: BTreeSet<&u8> = lower.iter().collect();
            kinds.len() >= 6 && !has("example")
        }
        Test::Random => {
            let is_reference = secret.iter().any(|byte| b"${}<>()[]%|,;".contains(byte));
            let digits = secret.iter().filter(|byte| byte.is_ascii_digit()).count();
            let letters = secret
                .iter()
                .filter(|byte| byte.is_ascii_alphabetic())
                .count();
            let is_plain = has("://") || PLACEHOLDERS.iter().any(|word| has(word));
            let is_ordinary = is_reference || is_plain || is_version(secret);
            digits > 1 && letters > 0 && !is_ordinary && entropy(secret) >= 3.0
        }
    }
}

/// Whether it starts as versions do: `1:4.13+dfsg1-1`.
fn is_version(text: &[u8]) -> bool {
    let mut rest = text.iter().skip_while(|byte| byte.is_ascii_digit());
    let starts = text.first().is_some_and(u8::is_ascii_digit);
    let parted = matches!(rest.next(), Some(b'.' | b':'));
    starts && parted && rest.next().is_some_and(u8::is_ascii_digit)
}

/// Shannon's, in bits for each byte.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let all = f64::from(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / all)
        .map(|part| -part * part.log2())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::{SCANNER, SECRETS, compile, entropy, passes, rows_in, secret_of};
    use std::collections::BTreeSet;

    /// The codes that a text has, as `check` finds them in a file that is new.
    fn codes(text: &str) -> Vec<&'static str> {
        let rows = rows_in(text.as_bytes());
        let found = rows.filter(|row| {
            let secret = &SECRETS[*row];
            let mut all = SCANNER.patterns[*row].captures_iter(text.as_bytes());
            all.any(|captures| passes(secret.test, secret_of(&captures).1))
        });
        let mut codes: Vec<_> = found.map(|row| SECRETS[row].code).collect();
        codes.dedup();
        codes
    }

    /// In pieces, so that nobody who looks for secrets finds these.
    fn made(pieces: &[&str]) -> String {
        pieces.concat()
    }

    const ABC: &str = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA2cD4fG6hJ8kL0";
    const HEX: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0";
    const CAPS: &str = "Q2ZRX7TVDW5S3JN6KHCE4MUA";

    /// Code, what is one, and what nearly is.
    fn table() -> Vec<(&'static str, String, String)> {
        let long = ABC.repeat(4);
        let (a20, a22, a27, a28) = (&ABC[..20], &ABC[..22], &ABC[..27], &ABC[..28]);
        let (a32, a33, a34, a35, a36, a40) = (
            &ABC[..32],
            &ABC[..33],
            &ABC[..34],
            &ABC[..35],
            &ABC[..36],
            &ABC[..40],
        );
        vec![
            (
                "secret.age_key",
                made(&[
                    "AGE-SECRET-",
                    "KEY-1",
                    &"QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".repeat(2)[..58],
                ]),
                made(&[
                    "AGE-SECRET-",
                    "KEY-1",
                    &"QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".repeat(2)[..57],
                ]),
            ),
            (
                "secret.anthropic_key",
                made(&["sk-", "ant-api03-", &long[..93]]),
                made(&["sk-", "ant-api03-", &long[..60]]),
            ),
            (
                "secret.aws_access_key",
                made(&["id = AK", "IA", &CAPS[..16]]),
                made(&["id = AK", "IAIOSFODNN7EXAMPLE"]),
            ),
            (
                "secret.aws_access_key",
                made(&["AS", "IA", &CAPS[..16]]),
                made(&["AS", "IA", &CAPS[..17]]),
            ),
            (
                "secret.aws_secret_key",
                made(&["aws_secret_access_key = ", a40]),
                made(&["aws_secret_access_key = ", &ABC[..39]]),
            ),
            (
                "secret.azure_storage_key",
                made(&["AccountName=x;Account", "Key=", &long[..86], "=="]),
                made(&["Account", "Key=", &long[..80], "=="]),
            ),
            (
                "secret.cargo_token",
                made(&["ci", "o", a32]),
                made(&["ci", "o", &ABC[..31]]),
            ),
            (
                "secret.databricks_token",
                made(&["dap", "i", &HEX[..32]]),
                made(&["dap", "i", &HEX[..30]]),
            ),
            (
                "secret.digitalocean_token",
                made(&["dop", "_v1_", HEX]),
                made(&["dop", "_v1_", &HEX[..60]]),
            ),
            (
                "secret.discord_webhook",
                made(&[
                    "https://discord.com/api/web",
                    "hooks/123456789012345678/",
                    &long[..68],
                ]),
                "https://discord.com/api/webhooks/123456789012345678/short".to_owned(),
            ),
            (
                "secret.docker_token",
                made(&["dckr", "_pat_", a27]),
                made(&["dckr", "_pat_", a20]),
            ),
            (
                "secret.github_token",
                made(&["gh", "p_", a36]),
                made(&["gh", "p_", a35]),
            ),
            (
                "secret.github_token",
                made(&["github", "_pat_", a22, "_", &long[..59]]),
                made(&["github", "_pat_", a22]),
            ),
            (
                "secret.github_token",
                made(&["gh", "s_", a40]),
                made(&["gh", "s_", &"x".repeat(36)]),
            ),
            (
                "secret.gitlab_token",
                made(&["gl", "pat-", a20]),
                made(&["gl", "pat-", &ABC[..19]]),
            ),
            (
                "secret.google_api_key",
                made(&["AI", "za", a35]),
                made(&["AI", "za", a34]),
            ),
            (
                "secret.google_oauth",
                made(&["GOC", "SPX-", a28]),
                made(&["GOC", "SPX-", a27]),
            ),
            (
                "secret.grafana_token",
                made(&["gl", "sa_", a32, "_", &HEX[..8]]),
                made(&["gl", "sa_", a32, "_"]),
            ),
            (
                "secret.huggingface_token",
                made(&["h", "f_", a34]),
                made(&["h", "f_", a33]),
            ),
            (
                "secret.jwt",
                made(&["ey", "J", a20, ".ey", "J", a28, ".", a40]),
                made(&["ey", "J", a20, ".", a28, ".", a40]),
            ),
            (
                "secret.linear_key",
                made(&["lin", "_api_", a40]),
                made(&["lin", "_api_", a36]),
            ),
            (
                "secret.npm_token",
                made(&["np", "m_", a36]),
                made(&["np", "m_", a35]),
            ),
            (
                "secret.npm_token",
                made(&["//registry.example/:_auth", "Token=", a28]),
                "//registry.example/:_authToken=${NPM_TOKEN}".to_owned(),
            ),
            (
                "secret.openai_key",
                made(&["sk", "-proj-", a40, a20]),
                made(&["sk", "-proj-", a20]),
            ),
            (
                "secret.openai_key",
                made(&["sk", "-", a20, "T3Blbk", "FJ", a20]),
                made(&["sk", "-", a20, "T3Blbk", "FJ"]),
            ),
            (
                "secret.private_key",
                made(&["-----BEGIN RSA PRIVATE ", "KEY-----\n", a40, "\n"]),
                "-----BEGIN RSA PRIVATE KEY-----\n...\n".to_owned(),
            ),
            (
                "secret.private_key",
                made(&["\"-----BEGIN PRIVATE ", "KEY-----\\n", a40, "\\n\""]),
                "if (text.contains(\"-----BEGIN PRIVATE KEY-----\"))".to_owned(),
            ),
            (
                "secret.private_key",
                made(&[
                    "-----BEGIN PGP PRIVATE ",
                    "KEY BLOCK-----\nVersion: 1\n\n",
                    a40,
                ]),
                "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A".to_owned(),
            ),
            (
                "secret.private_key",
                made(&["-----BEGIN OPENSSH PRIVATE ", "KEY-----\n", a40]),
                made(&["-----BEGIN CERTIFICATE-----\n", a40]),
            ),
            (
                "secret.pypi_token",
                made(&["pyp", "i-AgEIc", &long[..80]]),
                made(&["pyp", "i-AgEIc", a20]),
            ),
            (
                "secret.sendgrid_key",
                made(&["S", "G.", a22, ".", &ABC[..43]]),
                made(&["S", "G.", a22, ".", a40]),
            ),
            (
                "secret.shopify_token",
                made(&["shp", "at_", &HEX[..32]]),
                made(&["shp", "at_", &HEX[..30]]),
            ),
            (
                "secret.slack_token",
                made(&["xox", "b-123456789012-123456789012-", a22, "aB"]),
                made(&["xox", "b-not-a-real-one"]),
            ),
            (
                "secret.slack_token",
                made(&["xap", "p-1-A0123456789-123456789012-", HEX]),
                made(&["xap", "p-1-A0"]),
            ),
            (
                "secret.slack_webhook",
                made(&[
                    "https://hooks.slack.com/ser",
                    "vices/T0A1B2C3D/B0A1B2C3D/",
                    &ABC[..24],
                ]),
                "https://hooks.slack.com/services/T00/B00/XXX".to_owned(),
            ),
            (
                "secret.stripe_key",
                made(&["s", "k_live_", &ABC[..24]]),
                made(&["s", "k_test_", &ABC[..24]]),
            ),
            (
                "secret.stripe_key",
                made(&["wh", "sec_", a32]),
                made(&["wh", "sec_", a20]),
            ),
            (
                "secret.telegram_token",
                made(&["123456789:A", "A", a33]),
                made(&["123456789:A", "A", a32]),
            ),
            (
                "secret.terraform_token",
                made(&[&ABC[..14], ".atlas", "v1.", &long[..67]]),
                made(&[&ABC[..14], ".atlas", "v1.", a40]),
            ),
            (
                "secret.twilio_key",
                made(&["TWILIO_AUTH=\"", &HEX[..32], "\""]),
                made(&["TWILIO_AUTH=\"", &HEX[..31], "\""]),
            ),
            (
                "secret.vault_token",
                made(&["hv", "s.", &ABC[..24]]),
                made(&["hv", "s.", a22]),
            ),
            (
                "secret.url_password",
                made(&["postgres://app:", "h7Rt9kQ2w", "@db.internal/x"]),
                "postgres://postgres:postgres@localhost/x".to_owned(),
            ),
            (
                "secret.url_password",
                made(&["https://bot:", "Zk4nP0qLx8", "@git.example"]),
                "https://user:${PASS}word1@git.example".to_owned(),
            ),
            (
                "secret.assigned",
                made(&["password = \"", "h7Rt9kQ2wZ", "\""]),
                "password = \"correct horse battery\"".to_owned(),
            ),
            (
                "secret.assigned",
                made(&["\"clientSecret\": \"", "Zk4nP0qLx8vB", "\""]),
                "\"clientSecret\": \"your-secret-1234\"".to_owned(),
            ),
            (
                "secret.assigned",
                made(&["api_key: '", "9f8e7d6c5b4a3f2e", "'"]),
                "api_key: '${API_KEY_2}-suffix'".to_owned(),
            ),
            (
                "secret.assigned",
                made(&["DB_PASSWORD=", "h7Rt9kQ2wZ", "\n"]),
                "DB_PASSWORD=changeme1234\n".to_owned(),
            ),
            (
                "secret.assigned",
                made(&["export X_TOKEN=", "h7Rt9kQ2wZ"]),
                "let token = next_token(1234567890);".to_owned(),
            ),
            (
                "secret.assigned",
                made(&["token := `", "h7Rt9kQ2wZ4x", "`"]),
                "token: \"aaaaaaaaaa12\"".to_owned(),
            ),
            (
                "secret.assigned",
                made(&["passwd = \"", "Zk4nP0qLx8", "\""]),
                "passwd = \"1:4.13+dfsg1-1+deb12u2\"".to_owned(),
            ),
        ]
    }

    #[test]
    fn sus_28_each_kind_has_a_hit_and_a_near_miss() {
        let mut seen = BTreeSet::new();
        for (code, hit, near_miss) in table() {
            let found = codes(&hit);
            assert!(found.contains(&code), "{code}: {hit}: {found:?}");
            let found = codes(&near_miss);
            assert!(!found.contains(&code), "{code}: {near_miss}: {found:?}");
            seen.insert(code);
        }
        let all: BTreeSet<_> = SECRETS.iter().map(|secret| secret.code).collect();
        assert_eq!(seen, all);
    }

    /// A row whose words are not in its own matches would never be looked at.
    #[test]
    fn sus_28_rows_are_well_formed() {
        for secret in SECRETS {
            assert!(secret.code.starts_with("secret."), "{}", secret.code);
            assert!(
                secret
                    .words
                    .iter()
                    .all(|word| *word == word.to_ascii_lowercase())
            );
            compile(secret.pattern);
        }
        for (code, hit, _) in table() {
            let row = SECRETS.iter().find(|secret| {
                secret.code == code && compile(secret.pattern).is_match(hit.as_bytes())
            });
            let row = row.unwrap_or_else(|| panic!("{code}: {hit}"));
            let lower = hit.to_ascii_lowercase();
            assert!(row.words.iter().any(|word| lower.contains(word)), "{code}");
        }
    }

    #[test]
    fn entropy_tells_random_from_not() {
        assert!(entropy(b"aaaaaaaaaaaa") < 0.1);
        assert!((entropy(b"abcdefgh") - 3.0).abs() < 1e-9);
        assert!(entropy(b"h7Rt9kQ2wZ4x") > 3.0);
    }
}
