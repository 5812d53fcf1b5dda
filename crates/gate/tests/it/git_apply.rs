//! Patches, with git as the judge: what it makes of one is what the session made, or what
//! lazaret applies.

use std::path::Path;
use std::time::SystemTime;

use lazaret_gate::case::Case;
use lazaret_gate::choices::{Choices, Pick};
use lazaret_gate::export::{Checked, Form, ReportInput, ReportSubject, write};
use lazaret_gate::file_diff::FileDiff;
use lazaret_gate::proposal::Proposal;
use lazaret_tests::{Random, tree_text};

use super::desk::{Desk, all};

/// Contents that a line-by-line comparison could get wrong: the old, and the new.
const CONTENTS: [(&str, &[u8], &[u8]); 13] = [
    ("lone-cr", b"a\rb\nc\n", b"a\rx\nc\n"),
    ("cr-for-lf", b"a\nb\nc\n", b"a\rb\rc\r"),
    ("lf-for-cr", b"a\rb\rc\r", b"a\nb\nc\n"),
    ("cr-at-the-end", b"a\nb\n", b"a\nb\r"),
    ("crlf", b"a\nb\nc\n", b"a\r\nb\r\nc\r\n"),
    ("mixed", b"a\r\nb\rc\n\rd\n", b"a\nb\rC\n\r\nd\r"),
    ("no-newline-now", b"a\nb\n", b"a\nb"),
    ("newline-now", b"a\nb", b"a\nb\n"),
    ("never-a-newline", b"a\nb", b"a\nc"),
    ("nul", b"a\nb\0c\n", b"a\nb\0\rd\n"),
    ("nul-now", b"a\nb\n", b"a\nb\0"),
    ("latin-1", b"caf\xe9\rau\nlait\n", b"caf\xe9\rau\nlait\xff"),
    ("no-utf-8-now", b"a\nb\n", b"a\n\xc3(\rb\n"),
];

#[test]
fn git_applies_what_line_endings_and_odd_bytes_came_to() {
    for side in [0, 1] {
        let tree = |new: bool| {
            let pick = |(name, a, b): &(&str, &[u8], &[u8])| match new == (side == 0) {
                true => file(name, b),
                false => file(name, a),
            };
            CONTENTS.iter().map(pick).collect::<String>()
        };
        let desk = Desk::new(&tree(false), &tree(true), "");
        let case = desk.case();
        let patch = patch(&case, &all(&case));
        assert_eq!(
            applied(&desk, &patch),
            tree_text::dump(&desk.path("volume"))
        );
    }
}

/// Any text, with some of its hunks chosen: git makes of the patch what lazaret applies.
#[test]
fn git_applies_the_hunks_that_lazaret_applies() {
    let mut random = Random::new(22);
    let mut text = |lines: usize| -> String {
        let pieces = ["a\n", "b\n", "c\r\n", "d\re\n", "\r", "\n", "é\n"];
        let count = 1 + random.below(lines);
        let mut text: String = (0..count).map(|_| random.pick(&pieces)).collect();
        if random.below(3) == 0 {
            text.push_str("end");
        }
        text
    };
    let texts: Vec<(String, String)> = (0..60)
        .map(|_| {
            let (same, more) = (text(12), text(12));
            let old = format!("{}{same}{}{more}{}", text(3), text(2), text(2));
            let new = format!("{}{same}{}{more}{}", text(3), text(2), text(2));
            (old, new)
        })
        .collect();
    let tree = |of: fn(&(String, String)) -> &String| -> String {
        let files = texts.iter().enumerate();
        files
            .map(|(index, texts)| file(&format!("f{index:02}"), of(texts).as_bytes()))
            .collect()
    };
    let desk = Desk::new(&tree(|texts| &texts.0), &tree(|texts| &texts.1), "");
    let case = desk.case();
    let mut choices = Choices::all();
    let mut chosen = 0;
    for change in case.changes() {
        let (old, new) = case.texts(change).unwrap();
        let hunks = FileDiff::new(&old, &new).hunks().len();
        if hunks > 1 {
            choices.pick(&change.path, Pick::Hunks((0..hunks).step_by(2).collect()));
            chosen += 1;
        }
    }
    assert!(chosen > 10, "{chosen}");
    let proposal = case.propose(&choices).unwrap();
    let patch = patch(&case, &proposal);
    let by_git = applied(&desk, &patch);
    desk.apply(&case, proposal).unwrap();
    assert_eq!(by_git, desk.workspace());
}

fn file(name: &str, contents: &[u8]) -> String {
    let bytes = contents.iter().map(|byte| format!("\\x{byte:02x}"));
    format!("f {name} \"{}\"\n", bytes.collect::<String>())
}

fn patch(case: &Case, proposal: &Proposal) -> Vec<u8> {
    let checked = Checked {
        base: "base".to_owned(),
        candidate: "candidate".to_owned(),
        profile: "default".to_owned(),
    };
    let (subject, now) = (ReportSubject::Check(&checked), SystemTime::UNIX_EPOCH);
    let input = ReportInput::new(subject, case, proposal, now, Vec::new()).unwrap();
    let mut bytes = Vec::new();
    write(Form::Patch, &input, case, &mut bytes).unwrap();
    bytes
}

/// Dumps what `git apply` makes of a copy of the workspace.
fn applied(desk: &Desk, patch: &[u8]) -> String {
    let copy = tempfile::tempdir().unwrap();
    tree_text::build(&desk.workspace(), copy.path());
    git(copy.path(), patch);
    tree_text::dump(copy.path())
}

/// Git is alone with its own configuration, and finds no repository above.
#[track_caller]
fn git(dir: &Path, patch: &[u8]) {
    let output = duct::cmd("git", ["apply", "--whitespace=nowarn", "-"])
        .dir(dir)
        .full_env([
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("HOME", dir.display().to_string()),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            ("GIT_CEILING_DIRECTORIES", "/".to_owned()),
        ])
        .stdin_bytes(patch)
        .stderr_to_stdout()
        .stdout_capture()
        .unchecked()
        .run()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let patch = String::from_utf8_lossy(patch);
    assert!(output.status.success(), "{said}\n{patch}");
}
