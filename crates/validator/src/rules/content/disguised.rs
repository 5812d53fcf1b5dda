//! Text that is something else to the program that reads it than to a person who reviews it
//! (SUS-37): another encoding, escapes that end a comment, code far to the right.
//!
//! Only what the change adds counts.

use crate::Severity::Warn;
use crate::codes;
use crate::file_findings::FileFindings;
use crate::finding_buffer::FindingBuffer;
use crate::rules::content::file_pair::{FileSide, lines};
use crate::rules::{Context, FilePair};
use crate::shown::shown;

/// As many blanks in a row push what follows out of any window.
const MOST_BLANKS: usize = 200;

/// Files whose columns are far apart for a reason, by ending.
const WIDE: &[&str] = &["csv", "log", "md", "snap", "svg", "tsv", "txt"];

/// Encodings in which each letter of ASCII stands for itself.
const PLAIN_ENCODINGS: &[&str] = &[
    "ascii", "big5", "euc", "gb18030", "gb2312", "gbk", "iso", "koi8", "latin", "shift", "sjis",
    "us", "utf8", "utf", "cp125", "windows",
];

/// Languages whose readers replace `\uXXXX` before they look for comments and strings.
const ESCAPED_EARLY: &[&str] = &["groovy", "java", "jsh", "scala"];

/// Languages that read their encoding from a comment in the first two lines.
const TELLS_ENCODING: &[&str] = &["py", "pyi", "pyw", "rb", "rake", "gemspec", "pl", "pm"];

/// A file that is UTF-16 now: shells and Windows read it, git and a review show it as binary.
pub(in crate::rules) fn wide_characters(
    _: &Context<'_>,
    pair: &FilePair<'_>,
    report: &mut FindingBuffer,
) {
    if let (FileSide::Utf16(_), before) = (pair.after(), pair.before())
        && !matches!(before, FileSide::Utf16(_))
    {
        let message = "is UTF-16, which git shows as binary and which programs read as text";
        report.path(pair.path(), Warn, codes::CONTENT_ENCODING, message);
    }
}

/// A comment that has the rest of the file read in an encoding such as UTF-7.
pub(in crate::rules) fn declared(_: &Context<'_>, pair: &FilePair<'_>, report: &mut FindingBuffer) {
    let Some(bytes) = pair.after().bytes() else {
        return;
    };
    let is_script = bytes.starts_with(b"#!");
    if !is_script && !has_ending(pair, TELLS_ENCODING) {
        return;
    }
    for (number, line) in lines(bytes).take(2) {
        let odd = encoding(line).filter(|name| !is_plain(name));
        if let Some(name) = odd.filter(|_| pair.adds_line(line)) {
            let name = shown(&String::from_utf8_lossy(name));
            let message = format!("has the file read as {name}, so it says something else");
            report.line(
                (pair.path(), number),
                Warn,
                codes::CONTENT_ENCODING,
                message,
            );
        }
    }
}

/// The encoding that a comment names, as PEP 263 finds it.
fn encoding(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_start();
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if !line.starts_with(b"#") {
        return None;
    }
    let word = b"coding";
    let mut starts =
        (0..line.len()).filter(|&at| line.get(at..).is_some_and(|rest| rest.starts_with(word)));
    starts.find_map(|at| {
        let rest = line.get(at + word.len()..)?;
        let rest = rest.strip_prefix(b":").or(rest.strip_prefix(b"="))?;
        let rest = rest.trim_ascii_start();
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
        let end = rest.iter().position(|byte| !is_name(byte));
        let name = rest.get(..end.unwrap_or(rest.len()))?;
        (!name.is_empty()).then_some(name)
    })
}

fn is_plain(name: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name).to_lowercase();
    let name = name.replace(['-', '_', '.'], "");
    let is_wide = ["utf7", "utf16", "utf32"]
        .iter()
        .any(|wide| name.starts_with(wide));
    !is_wide && PLAIN_ENCODINGS.iter().any(|plain| name.starts_with(plain))
}

/// `\u000a` in Java ends the line that it stands in, and so a comment.
pub(in crate::rules) fn escapes(_: &Context<'_>, pair: &FilePair<'_>, report: &mut FindingBuffer) {
    let Some(bytes) = pair.after().bytes() else {
        return;
    };
    if !has_ending(pair, ESCAPED_EARLY) {
        return;
    }
    let mut found = FileFindings::default();
    for (number, line) in lines(bytes) {
        if ends_something(line) && pair.adds_line(line) {
            found.add_line(Warn, codes::CONTENT_ESCAPE, number, || {
                "has an escape that the compiler reads as a line end, a quote or a bracket"
                    .to_owned()
            });
        }
    }
    found.report(pair.path(), "", report);
}

/// Whether a line has an escape of a character that ends or begins something.
fn ends_something(line: &[u8]) -> bool {
    let mut rest = line;
    while let Some(at) = rest.iter().position(|&byte| byte == b'\\') {
        rest = rest.get(at + 1..).unwrap_or_default();
        let letters = rest.iter().take_while(|&&byte| byte == b'u').count();
        if letters == 0 {
            // An escaped backslash escapes nothing.
            rest = rest.get(1..).unwrap_or_default();
            continue;
        }
        let digits = rest.get(letters..letters + 4).and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u32::from_str_radix(digits, 16).ok()
        });
        let is_syntax =
            |code: u32| char::from_u32(code).is_some_and(|c| "\n\r\"'*/\\;{}()".contains(c));
        if digits.is_some_and(is_syntax) {
            return true;
        }
    }
    false
}

/// Code behind so many blanks that it is outside every window.
pub(in crate::rules) fn far_right(
    _: &Context<'_>,
    pair: &FilePair<'_>,
    report: &mut FindingBuffer,
) {
    let Some(text) = pair.after().bytes().filter(|bytes| !bytes.contains(&0)) else {
        return;
    };
    if has_ending(pair, WIDE) {
        return;
    }
    let mut found = FileFindings::default();
    for (number, line) in lines(text) {
        if is_far(line) && pair.adds_line(line) {
            found.add_line(Warn, codes::CONTENT_FAR_RIGHT, number, || {
                format!("has {MOST_BLANKS} blanks in a row, and something behind them")
            });
        }
    }
    found.report(pair.path(), "", report);
}

fn is_far(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    if line.len() <= MOST_BLANKS {
        return false;
    }
    let mut blanks = 0;
    line.iter().any(|byte| {
        blanks = match byte {
            b' ' | b'\t' => blanks + 1,
            _ => 0,
        };
        blanks >= MOST_BLANKS
    })
}

fn has_ending(pair: &FilePair<'_>, endings: &[&str]) -> bool {
    let name = pair.path().file_name().to_lowercase();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| endings.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sus_37_encodings_that_a_comment_names() {
        for (line, name) in [
            ("# coding: utf-7", Some("utf-7")),
            ("# -*- coding: UTF_7 -*-", Some("UTF_7")),
            ("# vim: set fileencoding=rot13 :", Some("rot13")),
            ("  #coding:raw_unicode_escape", Some("raw_unicode_escape")),
            ("#encoding: utf-16", Some("utf-16")),
            ("# coding: utf-8", None),
            ("# -*- coding: latin-1 -*-", None),
            ("# coding: cp1252", None),
            ("# coding: iso-8859-15", None),
            ("coding: utf-7", None),
            ("# the coding of it", None),
        ] {
            let found = encoding(line.as_bytes()).filter(|name| !is_plain(name));
            assert_eq!(found, name.map(str::as_bytes), "{line}");
        }
    }

    #[test]
    fn sus_37_escapes_that_end_something() {
        for (line, expected) in [
            (r"// \u000a run();", true),
            (r"// \uuu000A run();", true),
            (r#"String a = "\u0022 + run() + \u0022";"#, true),
            (r"/* \u002a\u002f run();", true),
            (r#"String a = "\u00e4\u263a";"#, false),
            (r#"String a = "\\u000a";"#, false),
            (r#"String a = "\n";"#, false),
        ] {
            assert_eq!(ends_something(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn sus_37_code_far_to_the_right() {
        let blanks = " ".repeat(400);
        assert!(is_far(format!("x();{blanks}run();").as_bytes()));
        assert!(is_far(format!("{}run();", "\t".repeat(200)).as_bytes()));
        assert!(!is_far(format!("x();{blanks}").as_bytes()));
        assert!(!is_far(format!("{}x();", " ".repeat(120)).as_bytes()));
    }
}
