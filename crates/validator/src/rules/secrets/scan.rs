//! Secrets in what a change brings (SUS-28, G11): found, named by kind, path and line, and
//! never shown, not even in part.
//!
//! Nearly every file is done after one pass that looks for the words of all rows at once.

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::{Captures, Regex, RegexBuilder};

use crate::Severity;
use crate::file_findings::FileFindings;
use crate::finding_buffer::FindingBuffer;
use crate::rules::deletions::test_files::is_test;
use crate::rules::secrets::table::{Need, SECRETS, Test};
use crate::rules::suspects::patterns::{Patterns, folded};
use crate::rules::{Context, FilePair};

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

pub(in crate::rules) fn check(_: &Context<'_>, pair: &FilePair<'_>, report: &mut FindingBuffer) {
    let Some(bytes) = pair.after().bytes() else {
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
        // What is written out in a test or an example opens nothing.
        let severity = match secret.test {
            Test::Random if is_for_show(pair) => Severity::Note,
            Test::Random | Test::Varied => Severity::Warn,
        };
        let mut found = FileFindings::default();
        let mut lines = Lines::new(bytes);
        for captures in pattern.captures_iter(bytes).take(MOST_MATCHES) {
            let (start, value) = secret_of(&captures);
            if !passes(secret.test, value) {
                continue;
            }
            // What was in the file before is not what this change brings.
            let known = known.get_or_insert_with(|| {
                let before = pair.before().bytes().unwrap_or_default();
                let known = pattern.captures_iter(before);
                known.map(|captures| secret_of(&captures).1).collect()
            });
            if known.contains(value) {
                continue;
            }
            let line = lines.number(start);
            let certain = secret.test != Test::Random;
            if named.insert((line, certain)) && (certain || !named.contains(&(line, true))) {
                found.add_line(severity, &secret.code, line, || {
                    format!("looks like {}", secret.code.reason)
                });
            }
        }
        found.report(pair.path(), "", report);
    }
}

/// Whether a file is by its name a test, what a test reads, or an example to be filled in.
fn is_for_show(pair: &FilePair<'_>) -> bool {
    static SHOWN: LazyLock<Patterns<&str>> =
        LazyLock::new(|| Patterns::new(FOR_SHOW.iter().map(|text| (*text, text))));
    let path = pair.path();
    let Some(entry) = &pair.change().after else {
        return false;
    };
    let mut found = false;
    SHOWN.find(&folded(path), entry, |_| found = true);
    found || is_test(path, entry)
}

/// Besides tests.
const FOR_SHOW: &[&str] = &[
    "testdata/**",
    "fixtures/**",
    "__fixtures__/**",
    "__mocks__/**",
    "__snapshots__/**",
    "conftest.py",
    "*.example",
    "*.example.*",
    "*.sample",
    "*.template",
    "*.dist",
];

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
            *known = follows(secret.context, bytes.get(found.end()..).unwrap_or_default());
        }
    }
    let rows = rows.into_iter().enumerate();
    rows.filter_map(|(row, found)| found.then_some(row))
}

/// Whether what a row needs follows a word: no more than its expression allows for.
fn follows(context: Need, rest: &[u8]) -> bool {
    match context {
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
mod tests;
