//! What the tests of streams share: one place that touches the API.

use std::fmt::Write as _;
use std::io::Read;

use lazaret_fuzz::targets::stream::Manifest;
use lazaret_protocol::{StreamError, StreamLimits};
use lazaret_tests::tree_text::{dump_content, quote};
use lazaret_transfer::{BlobStore, StreamEnd, UnpackError, Unpacked, unpack};
use lazaret_tree::{Entry, Mode};

/// Limits that no ordinary test reaches.
pub(crate) const LIMITS: StreamLimits = StreamLimits::DEFAULT;

/// Unpacks a plain stream and renders what came of it.
///
/// Either one line `B code`, or the tree in the tree language, then `Q code name`
/// for each refusal and `S code name` for each note.
#[track_caller]
pub(crate) fn outcome(stream: impl Read) -> String {
    outcome_within(stream, LIMITS, StreamEnd::Plain)
}

/// As [`outcome`], with other limits or another ending.
#[track_caller]
pub(crate) fn outcome_within(
    mut stream: impl Read,
    limits: StreamLimits,
    ending: StreamEnd,
) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("quarantine");
    let quarantine = BlobStore::create(&path).unwrap();
    let unpacked = unpack(&mut stream, limits, &quarantine, ending);
    let text = match &unpacked {
        Ok(unpacked) => render(unpacked, &quarantine),
        Err(error) => render_error(error),
    };
    // Whatever the stream said: nothing outside, one pair of files at most, and nothing at
    // all of a rejected batch.
    let names = |path| {
        std::fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
    };
    assert_eq!(names(dir.path()).collect::<Vec<_>>(), ["quarantine"]);
    let left: Vec<_> = names(&path).collect();
    let most = if unpacked.is_ok() { 2 } else { 0 };
    assert!(left.len() <= most, "{left:?} is left of {text}");
    text
}

fn render_error(error: &UnpackError) -> String {
    let message = error.to_string();
    assert!(
        !message.chars().any(char::is_control),
        "{message:?} is not escaped"
    );
    format!("B {}\n", error.code())
}

fn render(unpacked: &Unpacked, quarantine: &BlobStore) -> String {
    let mut text = String::new();
    for (path, entry) in unpacked.tree.iter() {
        let path = quote(path.as_str().as_bytes());
        let line = match entry {
            Entry::Dir => format!("d {path}/"),
            Entry::Symlink { target } => {
                format!("l {path} -> {}", quote(target.as_str().as_bytes()))
            }
            Entry::File { mode, size, digest } => {
                let mut content = Vec::new();
                quarantine
                    .blob(digest, *size)
                    .unwrap()
                    .read_to_end(&mut content)
                    .unwrap();
                let verb = match mode {
                    Mode::Plain => 'f',
                    Mode::Executable => 'x',
                };
                format!("{verb} {path} {}", dump_content(&content))
            }
        };
        writeln!(text, "{line}").unwrap();
    }
    for refusal in &unpacked.refusals {
        assert!(!refusal.reason.chars().any(char::is_control));
        writeln!(text, "Q {} {}", refusal.code, quote(&refusal.name)).unwrap();
    }
    for note in &unpacked.notes {
        assert!(!note.reason.chars().any(char::is_control));
        writeln!(text, "S {} {}", note.code, quote(&note.name)).unwrap();
    }
    text
}

/// Asserts that a plain stream is rejected as a whole, with this code.
#[track_caller]
pub(crate) fn rejected(stream: impl Read, code: &str) {
    assert_eq!(outcome(stream), format!("B {code}\n"));
}

/// Reads a stream without a quarantine, for tests with very many streams.
pub(crate) fn manifest(stream: impl Read, ending: StreamEnd) -> Result<Manifest, StreamError> {
    lazaret_fuzz::targets::stream::manifest(stream, LIMITS, ending)
}
