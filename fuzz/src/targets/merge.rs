//! The three-way merge: what comes out is made of the two sides, and nothing of them is lost.

use std::collections::HashMap;

use lazaret_transfer::merge::texts;

use crate::input::Input;

/// The bytes are what was sent in, the workspace's text and the session's, up to a 0xFF each.
pub(crate) fn merged(bytes: &[u8]) {
    let mut input = Input(bytes);
    let mut side = || String::from_utf8_lossy(input.until(0xff)).into_owned();
    let (base, host, session) = (side(), side(), side());
    // A side that did nothing, and two that did the same, are no reason to think.
    for one in [&host, &session] {
        assert_eq!(texts(&base, &base, one).as_ref(), Some(one));
        assert_eq!(texts(&base, one, &base).as_ref(), Some(one));
        assert_eq!(texts(&base, one, one).as_ref(), Some(one));
    }
    let merged = texts(&base, &host, &session);
    let other = texts(&base, &session, &host);
    assert_eq!(merged, other, "it matters who is who");
    let Some(merged) = merged else {
        let all_differ = base != host && base != session && host != session;
        assert!(all_differ, "a conflict about nothing");
        return;
    };
    let (base, host, session) = (counts(&base), counts(&host), counts(&session));
    let merged = counts(&merged);
    for line in merged.keys() {
        let known = host.contains_key(line) || session.contains_key(line);
        assert!(known, "{line:?} is from nowhere");
    }
    for (line, count) in host.iter().chain(&session) {
        let lost = !base.contains_key(line) && merged.get(line) < Some(count);
        assert!(!lost, "{line:?} is lost");
    }
}

fn counts(text: &str) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for line in text.split_inclusive('\n') {
        *counts.entry(line).or_default() += 1;
    }
    counts
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    [
        &b"a\nb\nc\nd\n\xffx\nb\nc\nd\n\xffa\nb\nc\ny\n"[..],
        b"a\nb\nc\n\xffa\nx\nc\n\xffa\ny\nc\n",
        b"a\nb\nc\xffa\nb\nc\nd\xffz\na\nb\nc",
        b"a\r\nb\r\nc\r\n\xffa\r\nc\r\n\xffa\r\nb\r\nc\r\nd\r\n",
        b"a\nb\nc\nd\ne\n\xffb\nc\nd\ne\n\xffa\nb\nc\ne\nf",
        b"\xffa\n\xffb\n",
    ]
    .map(<[u8]>::to_vec)
    .to_vec()
}
