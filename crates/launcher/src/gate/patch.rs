//! The contents of a change as text: a unified diff, inert on a terminal.

use lazaret_transfer::{Change, Digest, Entry, LinkTarget, Mode, escape};
use similar::TextDiff;

use super::case::Case;
use crate::failure::{Failure, FailureKind};

/// Files above this many bytes are described, not compared, on the terminal (AUD-04).
const MOST_BYTES: u64 = 1 << 20;

/// What is known of one side of a file.
pub(super) enum Side {
    /// Nothing is there.
    Absent,
    /// Text.
    Text(String),
    /// A description instead: binary, too large, changed on the host, not a file.
    Words(String),
}

impl Side {
    fn directory() -> Self {
        Self::Words("a directory".to_owned())
    }

    fn link(target: &LinkTarget) -> Self {
        Self::Words(format!("a link to {}", escape(target.as_str().as_bytes())))
    }
}

/// Renders one change. Every line that came out of the container is escaped.
///
/// # Errors
/// When the quarantine can't be read.
pub fn render(case: &Case, change: &Change) -> Result<String, Failure> {
    let path = escape(change.path.as_str().as_bytes());
    let mut text = match (&change.before, &change.after) {
        (None, _) => format!("+++ {path} (new)\n"),
        (_, None) => format!("--- {path} (deleted)\n"),
        _ => format!("--- {path}\n+++ {path}\n"),
    };
    if let (Some(before), Some(after)) = (&change.before, &change.after)
        && let Some(line) = nature(before, after)
    {
        text.push_str(&line);
    }
    let old = before(case, change)?;
    let new = after(case, change)?;
    match (old, new) {
        (Side::Absent, Side::Words(words)) | (Side::Words(words), Side::Absent) => {
            text.push_str(&format!("  {words}\n"));
        }
        (Side::Words(old), Side::Words(new)) if old == new => {}
        (Side::Words(old), Side::Words(new)) => {
            text.push_str(&format!("  was {old}\n  now {new}\n"));
        }
        (Side::Words(words), Side::Text(new)) => {
            text.push_str(&format!("  was {words}\n"));
            text.push_str(&hunks("", &new));
        }
        (Side::Text(old), Side::Words(words)) => {
            text.push_str(&format!("  now {words}\n"));
            text.push_str(&hunks(&old, ""));
        }
        (old, new) => text.push_str(&hunks(&words_or_text(old), &words_or_text(new))),
    }
    Ok(text)
}

fn words_or_text(side: Side) -> String {
    match side {
        Side::Text(text) => text,
        Side::Absent | Side::Words(_) => String::new(),
    }
}

/// Says what changed besides the contents.
pub(super) fn nature(before: &Entry, after: &Entry) -> Option<String> {
    match (before, after) {
        (Entry::File { mode: a, .. }, Entry::File { mode: b, .. }) if a != b => Some(match b {
            Mode::Executable => "  became executable\n".to_owned(),
            Mode::Plain => "  is no longer executable\n".to_owned(),
        }),
        (Entry::File { .. }, Entry::File { .. })
        | (Entry::Dir, Entry::Dir)
        | (Entry::Symlink { .. }, Entry::Symlink { .. }) => None,
        _ => Some(format!("  {} became {}\n", kind(before), kind(after))),
    }
}

fn kind(entry: &Entry) -> &'static str {
    match entry {
        Entry::Dir => "a directory",
        Entry::File { .. } => "a file",
        Entry::Symlink { .. } => "a symbolic link",
    }
}

/// Small texts were kept when they were sent in; other old contents are nowhere but in the
/// workspace, and are shown only while they are still those that the change starts from.
pub(super) fn before(case: &Case, change: &Change) -> Result<Side, Failure> {
    let Some(entry) = &change.before else {
        return Ok(Side::Absent);
    };
    let (size, digest) = match entry {
        Entry::File { size, digest, .. } => (size, digest),
        Entry::Dir => return Ok(Side::directory()),
        Entry::Symlink { target } => return Ok(Side::link(target)),
    };
    if *size > MOST_BYTES {
        return Ok(described("too large to show", *size, digest));
    }
    let Ok(bytes) = case.contents.read_at(&change.path, digest, MOST_BYTES) else {
        return Ok(Side::Words(
            "another version: the file was changed in the workspace".to_owned(),
        ));
    };
    Ok(text(bytes, *size, digest))
}

pub(super) fn after(case: &Case, change: &Change) -> Result<Side, Failure> {
    let Some(entry) = &change.after else {
        return Ok(Side::Absent);
    };
    let (size, digest) = match entry {
        Entry::File { size, digest, .. } => (size, digest),
        Entry::Dir => return Ok(Side::directory()),
        Entry::Symlink { target } => return Ok(Side::link(target)),
    };
    if *size > MOST_BYTES {
        return Ok(described("too large to show", *size, digest));
    }
    let bytes = case.contents.read(digest, MOST_BYTES).map_err(|error| {
        Failure::new(FailureKind::State, error).context("the quarantine can't be read")
    })?;
    Ok(text(bytes, *size, digest))
}

/// A NUL byte or invalid UTF-8 makes a file binary; it is named by size and digest, and
/// never passed over in silence (AUD-05).
fn text(bytes: Vec<u8>, size: u64, digest: &Digest) -> Side {
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Side::Text(text),
        _ => described("binary", size, digest),
    }
}

/// The whole digest: two files that agree in a part of it can be made, and would look as if
/// nothing had changed.
fn described(what: &str, size: u64, digest: &Digest) -> Side {
    Side::Words(format!("{what}, {size} bytes, blake3 {}", digest.to_hex()))
}

fn hunks(old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let mut text = String::new();
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        text.push_str(&format!("{}\n", hunk.header()));
        for change in hunk.iter_changes() {
            let line = change.value();
            // A lone carriage return ends a line for the comparison; it is shown as what it is.
            let ending = match change.missing_newline() {
                true => "\n\\ no newline at the end",
                false => "",
            };
            let line = line.strip_suffix('\n').unwrap_or(line);
            text.push_str(&format!("{}{}{ending}\n", change.tag(), inert(line)));
        }
    }
    text
}

/// Escapes a line of text; tabs stay, they do nothing but move to the right.
fn inert(line: &str) -> String {
    let parts: Vec<String> = line
        .split('\t')
        .map(|part| escape(part.as_bytes()))
        .collect();
    parts.join("\t")
}
