//! What can deceive the reader of a text: characters that are invisible or reorder others, and
//! bytes that a terminal obeys (AUD-06). A file that no rule can examine is reported (AUD-04,
//! AUD-05).
//!
//! Only lines that the change adds count. Each rule reads a file once, in linear time.

use super::unreadable;
use crate::Severity;
use crate::codes;
use crate::file_findings::FileFindings;
use crate::finding_buffer::FindingBuffer;
use crate::rules::content::file_pair::{FileSide, MOST_BYTES, lines};
use crate::rules::content::modes::runs_by_name;
use crate::rules::names::invisible::{self, InvisibleChar};
use crate::rules::{Context, FilePair};
use crate::shown::shown;

/// Says what of a file no rule has seen.
pub(in crate::rules) fn examined(_: &Context<'_>, pair: &FilePair<'_>, report: &mut FindingBuffer) {
    let path = pair.path();
    match pair.after() {
        FileSide::Unreadable(kind) => unreadable(path, *kind, report),
        FileSide::TooLarge => {
            let most = MOST_BYTES >> 20;
            let message = format!("more than {most} MiB, which no rule looks into");
            report.path(path, Severity::Warn, codes::CONTENT_UNEXAMINED, message);
        }
        after @ (FileSide::Bytes(_) | FileSide::Utf16(_))
            if after.text().is_none() && pair.before().text().is_some() =>
        {
            let message = "was text, and is binary now: a review shows only its digest";
            report.path(path, Severity::Warn, codes::CONTENT_BECAME_BINARY, message);
        }
        FileSide::Absent | FileSide::Bytes(_) | FileSide::Utf16(_) => {}
    }
}

/// A first line that names the program to run the file with (SUS-26).
pub(in crate::rules) fn shebang(
    context: &Context<'_>,
    pair: &FilePair<'_>,
    report: &mut FindingBuffer,
) {
    let Some(after) = pair.after().bytes() else {
        return;
    };
    let Some(first) = interpreter(after, pair.path().as_str()) else {
        return;
    };
    let before = pair.before().bytes();
    let message = match before.and_then(|bytes| interpreter(bytes, pair.path().as_str())) {
        Some(old) if old == first => return,
        Some(_) => "names another program to run it with",
        None => "names the program to run it with",
    };
    let message = format!("{message}: `{}`", shown(&String::from_utf8_lossy(first)));
    let severity = match pair.change().before {
        None if runs_by_name(context, pair.path(), pair.after()) => Severity::Note,
        _ => Severity::Warn,
    };
    report.line((pair.path(), 1), severity, codes::CONTENT_SHEBANG, message);
}

/// Returns the first line, if a kernel reads it. `#![...]` starts many a Rust file.
fn interpreter<'a>(bytes: &'a [u8], path: &str) -> Option<&'a [u8]> {
    let (_, line) = lines(bytes).next().filter(|_| bytes.starts_with(b"#!"))?;
    let attribute = line.starts_with(b"#![") && path.ends_with(".rs");
    (!attribute).then_some(line)
}

/// Characters that are not seen, and what a terminal would obey (AUD-06).
pub(in crate::rules) fn invisible(
    _: &Context<'_>,
    pair: &FilePair<'_>,
    report: &mut FindingBuffer,
) {
    let Some(bytes) = pair.after().bytes().filter(|bytes| is_text(bytes)) else {
        return;
    };
    let mut found = FileFindings::default();
    for (number, line) in lines(bytes) {
        if !line.iter().any(|&byte| SUSPICIOUS[usize::from(byte)]) {
            continue;
        }
        let hidden = first_unseen(line, number == 1);
        let obeyed = first_control(line);
        if (hidden.is_some() || obeyed.is_some()) && pair.adds_line(line) {
            if let Some((c, kind)) = hidden {
                found.add_line(Severity::Warn, codes::CONTENT_INVISIBLE, number, || {
                    unseen_message(c, kind)
                });
            }
            if let Some(what) = obeyed {
                found.add_line(Severity::Warn, codes::CONTENT_CONTROL, number, || {
                    what.to_owned()
                });
            }
        }
    }
    found.report(pair.path(), "", report);
}

/// Bytes of which a line has one if it has anything to be looked at: controls other than
/// tab and form feed, and the first bytes of characters that `is_invisible` knows.
static SUSPICIOUS: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'\t' | b'\x0c' | b'\n' => false,
            0..=0x1f | 0x7f..=0xbf => byte < 0x80,
            0xc2 | 0xcd | 0xd8 | 0xe1 | 0xe2 | 0xe3 | 0xef | 0xf0 | 0xf3 => true,
            // Bytes that are no UTF-8 at all.
            0xc0 | 0xc1 | 0xf5..=0xff => true,
            _ => false,
        };
        byte += 1;
    }
    // 8-bit DCS, CSI and OSC, in files that are not UTF-8.
    table[0x90] = true;
    table[0x9b] = true;
    table[0x9d] = true;
    table
};

/// Whether a review shows these bytes as text, or a reader takes them for it: hardly a byte
/// that is not UTF-8, and hardly a NUL, which a comment may hold in many a language. One stray
/// byte must not hide all the others.
fn is_text(bytes: &[u8]) -> bool {
    let nuls = bytes.iter().filter(|&&byte| byte == 0).count();
    match std::str::from_utf8(bytes) {
        Ok(_) => nuls <= bytes.len() / 64,
        Err(_) if nuls > 0 => false,
        Err(_) => {
            let odd: usize = bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
            odd <= bytes.len() / 8
        }
    }
}

fn first_unseen(line: &[u8], mut starts: bool) -> Option<(char, InvisibleChar)> {
    line.utf8_chunks().find_map(|chunk| {
        let found = invisible::find(chunk.valid(), starts);
        starts = false;
        found
    })
}

fn unseen_message(c: char, kind: InvisibleChar) -> String {
    let what = match kind {
        InvisibleChar::Reorders => "which changes the order in which the line is shown",
        InvisibleChar::Invisible => "which is not seen",
        InvisibleChar::Hides => "which is not seen and can spell hidden text",
    };
    format!("has U+{:04X}, {what}", u32::from(c))
}

/// Says what a terminal would do, for the first control character of a line.
fn first_control(line: &[u8]) -> Option<&'static str> {
    // Several carriage returns at the end overwrite nothing.
    let end = line.iter().rposition(|&byte| byte != b'\r')?;
    let line = line.get(..=end)?;
    let mut rest = line;
    while let [byte, after @ ..] = rest {
        let found = match (byte, after) {
            (b'\t' | b'\x0c', _) => None,
            (b'\r', _) => Some("a carriage return, after which the line is overwritten"),
            (b'\x08', _) => Some("a backspace, after which characters are overwritten"),
            (0x1b, [b']', text @ ..]) => Some(operating_system(text)),
            (0x1b, [b'[', ..]) => Some("an escape sequence that moves the cursor or colours"),
            (0x1b, _) => Some("an escape character, which a terminal obeys"),
            (0xc2, [0x9d, text @ ..]) => Some(operating_system(text)),
            (0xc2, [0x80..=0x9f, ..]) => Some("an 8-bit control character"),
            (0..=0x1f | 0x7f, _) => Some("a control character"),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
        rest = after;
    }
    let stray = |byte: &u8| matches!(byte, 0x90 | 0x9b | 0x9d);
    let mut chunks = line.utf8_chunks();
    chunks
        .any(|chunk| chunk.invalid().iter().any(stray))
        .then_some("an 8-bit control character")
}

/// What follows `ESC ]`.
fn operating_system(text: &[u8]) -> &'static str {
    match text {
        [b'5', b'2', b';', ..] => "an escape sequence that writes the clipboard (OSC 52)",
        [b'8', b';', ..] => "an escape sequence that makes a link (OSC 8)",
        [b'0' | b'1' | b'2', b';', ..] => "an escape sequence that sets the window's title",
        _ => "an escape sequence to the terminal (OSC)",
    }
}
