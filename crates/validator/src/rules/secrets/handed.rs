//! What the session was handed and a change brings back: tokens of a lent login, and
//! placeholders of keys (SUS-38).

use lazaret_tree::{Change, Entry, FindingCode};

use crate::codes;
use crate::finding_buffer::FindingBuffer;
use crate::handed::{HandedKind, Mark};
use crate::rules::{Context, FilePair};

/// Looks into the contents, of any size.
pub(in crate::rules) fn contents(
    context: &Context<'_>,
    pair: &FilePair<'_>,
    report: &mut FindingBuffer,
) {
    let handed = &context.policy.handed;
    if handed.is_empty() {
        return;
    }
    let found = match (pair.after().bytes(), pair.stream_after()) {
        (Some(bytes), _) => handed.find(bytes),
        (None, Ok(None)) => return,
        (None, Ok(Some(mut contents))) => match handed.find_in(&mut contents) {
            Ok(found) => found,
            Err(_) => return unreadable(pair, report),
        },
        (None, Err(_)) => return unreadable(pair, report),
    };
    if found.is_empty() {
        return;
    }
    // What was in the file before is not what this change brings.
    let before = pair.before().bytes().unwrap_or_default();
    let before = handed.find(before);
    for mark in found {
        if !before.iter().any(|old| old.is_of(mark)) {
            let (code, message) = said(mark, "holds");
            report.block(pair.path(), code, message);
        }
    }
}

fn unreadable(pair: &FilePair<'_>, report: &mut FindingBuffer) {
    let message = "its contents can't be read";
    report.block(pair.path(), codes::CONTENT_UNREADABLE, message);
}

/// Looks at the name, and at a link's target.
pub(in crate::rules) fn names(context: &Context<'_>, change: &Change, report: &mut FindingBuffer) {
    let handed = &context.policy.handed;
    let target = match &change.after {
        None => return,
        Some(Entry::Symlink { target }) => Some(target.as_str().as_bytes()),
        Some(Entry::Dir | Entry::File { .. }) => None,
    };
    if handed.is_empty() || context.is_git(&change.path) {
        return;
    }
    let name = change.path.as_str().as_bytes();
    for text in [Some(name), target].into_iter().flatten() {
        for mark in handed.find(text) {
            let (code, message) = said(mark, "its name or target holds");
            report.block(&change.path, code, message);
        }
    }
}

/// The names are the profile's, so they can be shown.
fn said(mark: &Mark, holds: &str) -> (&'static FindingCode, String) {
    let name = &mark.name;
    match mark.kind {
        HandedKind::Login => (
            codes::SECRET_LENT_LOGIN,
            format!("{holds} a token of the login {name}, which the session was lent"),
        ),
        HandedKind::Placeholder => (
            codes::SECRET_PLACEHOLDER,
            format!("{holds} the placeholder of the key {name}"),
        ),
    }
}
