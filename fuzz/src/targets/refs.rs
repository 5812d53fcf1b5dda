//! Any text where git keeps its own: what is not understood is never nothing.

use lazaret_protocol::{FileTime, Survey, VolumeIdentity};
use lazaret_protocol::{FoundEntry, FoundKind};
use lazaret_transfer::{NewRefKind, Tips, VolumeState, new_refs};
use lazaret_tree::{Digest, RelPath, Tree, escape};

use crate::input::Input;

const HEX: &[u8] = b"0123456789abcdef0123456789abcdef01234567";

/// The first byte says which file it is; the rest is what it holds.
pub(crate) fn read(bytes: &[u8]) {
    let mut input = Input(bytes);
    let path = match input.byte() % 6 {
        0 => ".git/HEAD",
        1 => ".git/refs/heads/x",
        2 => ".git/packed-refs",
        3 => ".git/logs/HEAD",
        4 => ".git/worktrees/w/HEAD",
        _ => ".git/logs/refs/stash",
    };
    let text = input.0;
    let volume = volume(path, text);
    let texts = |digest: &Digest, size: u64| {
        let is_it = *digest == Digest::of(text) && size == text.len() as u64;
        is_it.then(|| text.to_vec())
    };
    let found = new_refs(&Tree::new(), &volume, &Tips::default(), &texts);
    let unreadable = new_refs(&Tree::new(), &volume, &Tips::default(), &|_, _| None);
    // What never came out is told of.
    assert_eq!(unreadable.listed.len(), 1);
    assert_eq!(unreadable.listed[0].kind, NewRefKind::Unreadable);
    assert_eq!(unreadable.listed[0].name, path.as_bytes());
    for one in &found.listed {
        let subject = one.subject.as_deref().unwrap_or_default();
        for shown in [&one.name[..], subject] {
            assert!(!escape(shown).contains(char::is_control));
        }
    }
    if found.is_empty() {
        assert!(is_gits(path, text), "{path}: {}", escape(text));
    }
}

/// Whether each line begins as one of git's does: a weaker rule than that of the reader.
fn is_gits(path: &str, text: &[u8]) -> bool {
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_id = |line: &[u8]| line.len() >= 40 && line.iter().take(40).all(is_hex);
    let is_line = |line: &[u8]| match path {
        ".git/packed-refs" => line.starts_with(b"#") || line.starts_with(b"^") || is_id(line),
        ".git/logs/HEAD" | ".git/logs/refs/stash" => is_id(line),
        _ => line.starts_with(b"ref: refs/") || is_id(line),
    };
    match text.strip_suffix(b"\n") {
        Some(lines) => lines.split(|&byte| byte == b'\n').all(is_line),
        None => text.is_empty() && (path.contains("logs") || path.contains("packed")),
    }
}

fn volume(path: &str, text: &[u8]) -> VolumeState {
    let identity = |mode, size| VolumeIdentity {
        ino: 0,
        size,
        mode,
        mtime: NEVER,
        ctime: NEVER,
    };
    let path = RelPath::new(path).expect("one of ours");
    let dirs = path.ancestors().map(|dir| FoundEntry {
        name: dir.as_str().as_bytes().to_vec(),
        kind: FoundKind::Dir {
            identity: identity(0o40_755, 0),
        },
    });
    let mut found: Vec<FoundEntry> = dirs.collect();
    found.push(FoundEntry {
        name: path.as_str().as_bytes().to_vec(),
        kind: FoundKind::File {
            identity: identity(0o100_644, text.len() as u64),
            links: 1,
            digest: Some(Digest::of(text)),
        },
    });
    let survey = Survey {
        found,
        gone: Vec::new(),
    };
    let surveyed = VolumeState::default().surveyed(survey, &Tree::new());
    surveyed
        .expect("one file")
        .whole()
        .expect("all of it is read")
}

const NEVER: FileTime = FileTime {
    seconds: 0,
    nanos: 0,
};

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let id = String::from_utf8_lossy(HEX);
    let log = format!("{id} {id} A <a@b> 1700000000 +0000\tcommit: x\n");
    let texts = [
        (0, "ref: refs/heads/main\n".to_owned()),
        (1, format!("{id}\n")),
        (
            2,
            format!("# pack-refs with: peeled \n{id} refs/tags/v\n^{id}\n"),
        ),
        (3, log.clone()),
        (4, format!("{id}\n")),
        (5, log),
    ];
    let seeds = texts.into_iter();
    seeds
        .map(|(which, text)| [&[which][..], text.as_bytes()].concat())
        .collect()
}
