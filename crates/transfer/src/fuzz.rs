//! What `fuzz/` needs of private parsers.

use std::path::PathBuf;
use std::sync::Arc;

use lazaret_tree::{Change, Digest, Entry, LinkTarget, Mode, RelPathBuf};

use crate::JournalError;
use crate::apply::fingerprint::Fingerprint;
use crate::apply::journal::{Journal, Old, Phase, Placement, Step};
use crate::apply::ops::{Kind, Time};

/// Reads a journal, and returns what would be written for it, which reads the same.
///
/// # Errors
/// When it is refused.
pub fn journal(bytes: &[u8]) -> Result<Vec<u8>, JournalError> {
    let journal = Journal::parse(bytes)?;
    let again = written(&journal);
    assert_eq!(Journal::parse(&again), Ok(journal));
    Ok(again)
}

/// Returns journals of every kind of step.
pub fn journals() -> Vec<Vec<u8>> {
    let old = Old {
        mode: 0o644,
        mtime: Time {
            secs: 1_700_000_000,
            nanos: 5,
        },
        attributes: None,
    };
    let file = Entry::File {
        mode: Mode::Plain,
        size: 0,
        digest: Digest::of(b""),
    };
    let link = "../x".parse::<LinkTarget>().ok();
    let new = Fingerprint {
        kind: Kind::File,
        ino: 77,
        size: 0,
        mtime: Time { secs: -1, nanos: 2 },
    };
    let step = |path: &str, before: Option<Entry>, after: Option<Entry>| Step {
        change: Arc::new(Change {
            path: path.parse::<RelPathBuf>().expect("a path"),
            before: before.clone(),
            after: after.clone(),
        }),
        old: before.map(|_| old.clone()),
        new: after.map(|_| new),
    };
    let steps = [
        step("a", Some(file.clone()), Some(file)),
        step("b/c", None, link.map(|target| Entry::Symlink { target })),
        step("d", Some(Entry::Dir), None),
    ];
    let journals = (0..=steps.len()).map(|count| Journal {
        phase: Phase::Ready,
        id: "2f0c2f0c2f0c2f0c".to_owned(),
        root_dev: 66,
        root_ino: 1234,
        root_path: PathBuf::from("/w"),
        placement: Placement::Exchange,
        steps: steps[..count].to_vec(),
    });
    journals.map(|journal| written(&journal)).collect()
}

fn written(journal: &Journal) -> Vec<u8> {
    let mut bytes = Vec::new();
    journal.write_to(&mut bytes).expect("to memory");
    bytes
}
