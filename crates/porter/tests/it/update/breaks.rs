//! Updates that break off, and the next one.

use std::fs;
use std::io::{self, Read as _, Write as _};

use lazaret_protocol::{FileTime, StreamLimits, StreamWriter, Survey, UpdateRequest, Writers};
use lazaret_transfer::AgentChanges;
use lazaret_tree::{Digest, Entry, Mode, RelPath, diff};

use super::kept::{Fault, Kept, conflicts, update_verb};
use crate::session::porter;

const PROJECT: &str = r#"
    f README.md "hello"
    f docs/a "a"
    f docs/deep/b "b"
    f lib "lib"
    f src/main.rs *40000
    f .git/HEAD "ref: refs/heads/main"
    f .git/index "i"
    f .git/refs/heads/main "1111111111111111111111111111111111111111\n"
"#;
const EDITS: &str = r#"
    f README.md "changed"
    - docs
    f docs "a file"
    - lib
    f lib/mod.rs "lib"
    f new/file *3000
    f .git/index "j"
    f .git/refs/heads/main "2222222222222222222222222222222222222222\n"
    f .git/refs/heads/new "2222222222222222222222222222222222222222\n"
"#;

/// Breaks an update at every step, goes on with the next one, and compares.
fn broken_at(fault: impl Fn(usize) -> Fault) {
    let mut whole = Kept::new(PROJECT);
    whole.host(EDITS);
    whole.agent("f mine \"x\"");
    whole.update();
    let mut length = 0;
    loop {
        let mut kept = Kept::new(PROJECT);
        kept.agent("f mine \"x\"");
        kept.host(EDITS);
        if kept
            .try_update(AgentChanges::Keep, fault(length), &mut |_| {})
            .is_ok()
        {
            assert!(length > 10_000, "at {length}");
            return;
        }
        let plan = kept.update();
        assert_eq!(conflicts(&plan), "", "at {length}");
        kept.assert_known("afterwards");
        assert_eq!(kept.dump(), whole.dump(), "at {length}");
        assert_eq!(kept.baseline, whole.baseline, "at {length}");
        length += 509;
    }
}

#[test]
fn a_stream_that_is_cut_anywhere_is_finished_by_the_next_update() {
    broken_at(Fault::Cut);
}

#[test]
fn a_porter_that_is_killed_anywhere_leaves_old_or_new() {
    broken_at(Fault::Kill);
}

#[test]
fn a_receipt_that_is_lost_is_not_missed() {
    let lose = || {
        let mut kept = Kept::new(PROJECT);
        kept.host(EDITS);
        let lost = kept.try_update(AgentChanges::Keep, Fault::LostReceipt, &mut |_| {});
        lost.expect_err("the receipt is lost");
        kept.host("f README.md \"changed again\"");
        kept
    };
    let mut kept = lose();
    let plan = kept.update();
    assert_eq!(conflicts(&plan), "");
    assert_eq!(plan.request.send.len(), 1);
    assert!(diff(&kept.baseline, &kept.known.tree()).is_empty());
    // It is the intent that makes the difference: without it, what was sent looks like the
    // agent's.
    let mut without = lose();
    without.intent = None;
    assert_eq!(conflicts(&without.update()), "README.md");
}

#[test]
fn what_changes_on_the_host_after_the_scan_does_not_go_in() {
    for edit in [
        "f README.md \"CHANGED\"",
        "- README.md",
        "m 755 README.md",
        "- new\nf new 1",
    ] {
        let mut kept = Kept::new(PROJECT);
        kept.host(EDITS);
        let workspace = kept.workspace.path().to_path_buf();
        let broken = kept.try_update(AgentChanges::Keep, Fault::None, &mut |_| {
            lazaret_tests::tree_text::build(edit, &workspace);
        });
        let stderr = broken.expect_err(edit).stderr;
        assert!(stderr.starts_with("porter: update: "), "{stderr}");
        let readme = fs::read(kept.path("README.md")).expect("there");
        assert!(readme == b"hello" || readme == b"changed", "{edit}");
        kept.update();
        assert!(diff(&kept.baseline, &kept.known.tree()).is_empty());
        let host = kept.look().tree;
        assert_eq!(kept.baseline, host);
    }
}

#[test]
fn broken_requests_are_refused() {
    let root = lazaret_tests::tree_text::temp("f a 1");
    for bytes in [&b""[..], b"nonsense", &[0; 4096], &[0xff; 100_000]] {
        porter("update", root.path(), bytes).failed();
    }
    assert_eq!(lazaret_tests::tree_text::dump(root.path()), "f a \"1\"\n");
}

#[test]
fn a_volume_over_the_limits_is_an_answer() {
    let kept = Kept::new(PROJECT);
    let limits = StreamLimits {
        entries: 3,
        ..StreamLimits::DEFAULT
    };
    let mut request = Vec::new();
    let asked = kept.known.request(limits, Writers::Stopped, &kept.baseline);
    asked.write_to(&mut request).expect("to memory");
    let said = porter("update", kept.volume.path(), &request).ok();
    let error = Survey::read_from(&mut &said[..], &limits).expect_err("over");
    assert_eq!(error.code().id, "limit.entries");
}

/// Gives the porter an order and a stream that need not belong together.
fn say(kept: &Kept, request: &UpdateRequest, stream: &[u8]) -> (Option<i32>, String) {
    let (their_stdin, mut stdin) = io::pipe().expect("a pipe");
    let (mut stdout, their_stdout) = io::pipe().expect("a pipe");
    let verb = update_verb(kept.volume.path(), "--ahead")
        .stdin_file(their_stdin)
        .stdout_file(their_stdout)
        .stderr_capture()
        .unchecked();
    let child = verb.start().expect("the porter was built");
    drop(verb);
    let limits = StreamLimits::DEFAULT;
    let asked = kept.known.request(limits, Writers::Stopped, &kept.baseline);
    asked.write_to(&mut stdin).expect("it reads");
    Survey::read_from(&mut stdout, &limits).expect("a survey");
    request.write_to(&mut stdin).expect("it reads");
    stdin.write_all(stream).expect("it reads");
    drop(stdin);
    let mut said = Vec::new();
    stdout.read_to_end(&mut said).expect("a pipe");
    assert!(said.is_empty(), "no receipt");
    let output = child.wait().expect("it ran");
    let stderr = String::from_utf8(output.stderr.clone()).expect("escaped");
    (output.status.code(), stderr)
}

#[test]
fn what_was_not_ordered_gets_no_name() {
    let kept = Kept::new(PROJECT);
    let before = kept.dump();
    let readme = RelPath::new("README.md").expect("a path");
    let file = |text: &[u8]| Entry::File {
        mode: Mode::Plain,
        size: text.len() as u64,
        digest: Digest::of(text),
    };
    let mut request = UpdateRequest::default();
    request.send.insert(readme.to_owned(), file(b"HELLO"));
    let stream = |members: &dyn Fn(&mut StreamWriter<&mut Vec<u8>>)| {
        let mut bytes = Vec::new();
        let mut stream = StreamWriter::new(&mut bytes);
        members(&mut stream);
        stream.finish().expect("to memory");
        bytes
    };
    let contents = |stream: &mut StreamWriter<&mut Vec<u8>>, path: &str, mode, text: &[u8]| {
        let path = RelPath::new(path).expect("a path");
        stream
            .contents(path, mode, text, FileTime::default())
            .expect("to memory");
    };
    let plain = Mode::Plain;
    for (stream, reason) in [
        (
            stream(&|stream| contents(stream, "README.md", plain, b"hullo")),
            "README.md: not what was ordered",
        ),
        (
            stream(&|stream| contents(stream, "README.md", plain, b"longer")),
            "README.md: not what was ordered",
        ),
        (
            stream(&|stream| contents(stream, "README.md", Mode::Executable, b"HELLO")),
            "README.md: not what was ordered",
        ),
        (
            stream(&|stream| {
                let target = "docs".parse().expect("a target");
                stream
                    .symlink(readme, &target, FileTime::default())
                    .expect("to memory");
            }),
            "README.md: not what was ordered",
        ),
        (
            stream(&|stream| contents(stream, "A", plain, b"HELLO")),
            "A: not what was ordered",
        ),
        (stream(&|_| {}), "README.md: ordered, and did not come"),
    ] {
        let said = say(&kept, &request, &stream);
        assert_eq!(said, (Some(125), format!("porter: update: {reason}\n")));
        assert_eq!(kept.dump(), before, "{reason}");
    }
}
