//! `porter run --poised`: nothing runs before the word, and nothing but the word is one.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Output;

use lazaret_protocol::{PLACEMENT_KEYS, Placement, Receipt};
use lazaret_tests::tree_text;

use crate::session::packed;
use crate::talking::Talking;

/// How a command is held that leaves a mark and tells what it finds.
fn arguments(dir: &Path) -> Vec<&str> {
    let mut arguments = vec!["run"];
    // Here nothing is confined; what is checked of that has its tests elsewhere.
    for control in ["CON-01", "CON-02", "CON-03", "CON-04"] {
        arguments.extend(["--without", control]);
    }
    let dir = dir.to_str().expect("a name that we chose");
    arguments.extend(["--poised", dir]);
    arguments.extend(["--", "/bin/sh", "-c", "touch mark; pwd; cat; echo end"]);
    arguments
}

/// Holds the command, says `word`, and closes stdin.
fn bootstrap(dir: &Path, word: &[u8]) -> Output {
    duct::cmd(env!("CARGO_BIN_EXE_lazaret-porter"), arguments(dir))
        .stdin_bytes(word)
        .stdout_capture()
        .stderr_capture()
        .unchecked()
        .run()
        .expect("it was built")
}

#[test]
fn nothing_but_the_word_starts_a_poised_command() {
    for word in [
        &b""[..],
        b"g",
        b"go",
        b"no\n",
        b"Go\n",
        b"\ngo\n",
        b"go\r",
        b"go on\n",
        b"end of it\n",
        b"export /\n",
        &[b'g'; 100],
    ] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let Output {
            status,
            stdout,
            stderr,
        } = bootstrap(dir.path(), word);
        let said = String::from_utf8_lossy(&stderr);
        assert_eq!(status.code(), Some(125), "{word:?}: {said}");
        assert!(said.contains("never told to start"), "{word:?}: {said}");
        assert_eq!((stdout, dir.path().join("mark").exists()), (vec![], false));
    }
}

#[test]
fn a_poised_command_starts_in_its_directory_with_an_empty_stdin() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().canonicalize().expect("it is there");
    let later = path.join("made later");
    std::fs::create_dir(&later).expect("ours");
    // The command never reads what follows the word: it finds the end of its input at once.
    let output = bootstrap(&later, b"go\nmore");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, format!("{}\nend\n", later.display()));
    assert!(output.status.success() && later.join("mark").exists());
}

#[test]
fn a_poised_command_without_its_directory_does_not_start() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output = bootstrap(&dir.path().join("missing"), b"go\n");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("enter the directory"), "{said}");
}

#[test]
fn what_is_not_wanted_ends_well_and_leaves_no_mark() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Output {
        status,
        stdout,
        stderr,
    } = bootstrap(dir.path(), b"end\n");
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    assert_eq!((stdout, dir.path().join("mark").exists()), (vec![], false));
}

#[test]
fn a_poised_command_starts_in_what_the_same_process_received() {
    let workspace = tree_text::temp("f a \"one\"\nd b/\nf b/c *70000");
    let (sent, stream) = packed(workspace.path());
    let volume = tempfile::tempdir().expect("a temporary directory");
    let root = volume.path().canonicalize().expect("it is there");
    let inside = root.join("b");
    let mut porter = Talking::with(&arguments(&inside));
    porter.say(format!("receive {}\n", root.display()).as_bytes());
    porter.say(&stream);
    let receipt = Receipt::read_from(&mut porter.stdout, sent.trailer.entries);
    assert_eq!(receipt.expect("a receipt").arrived, sent.trailer);
    // All is there, and nothing has run.
    assert_eq!(tree_text::dump(&root), tree_text::dump(workspace.path()));
    porter.say(b"go\n");
    let said = String::from_utf8(porter.rest().ok()).expect("text");
    assert_eq!(said, format!("{}\nend\n", inside.display()));
    assert!(inside.join("mark").exists());
}

#[test]
fn a_verb_that_fails_ends_a_poised_command() {
    let workspace = tree_text::temp("f a *70000");
    let (_, stream) = packed(workspace.path());
    for cut in [0, 1000, stream.len() - 1] {
        let volume = tempfile::tempdir().expect("a temporary directory");
        let mut words = format!("receive {}\n", volume.path().display()).into_bytes();
        words.extend_from_slice(&stream[..cut]);
        // What follows is part of the stream, and no word.
        words.extend_from_slice(b"go\n");
        let output = bootstrap(volume.path(), &words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{said}");
        assert!(said.starts_with("porter: receive: "), "{said}");
        assert!(!volume.path().join("mark").exists(), "{cut}");
    }
    // A workspace is received once.
    let full = tree_text::temp("f a \"x\"");
    let words = format!("receive {}\n", full.path().display());
    let said = String::from_utf8(bootstrap(full.path(), words.as_bytes()).stderr).expect("text");
    assert_eq!(said, "porter: receive: the directory is not empty\n");
}

#[test]
fn a_poised_command_keeps_its_stdin_if_that_is_asked_for() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut arguments = arguments(dir.path());
    arguments.insert(1, "--stdin");
    let output = duct::cmd(env!("CARGO_BIN_EXE_lazaret-porter"), arguments)
        .stdin_bytes(&b"go\nmore"[..])
        .stdout_capture()
        .run()
        .expect("it was built");
    // Nothing of it was read ahead, and it ends.
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.ends_with("\nmoreend\n"), "{said}");
}

/// Where this process runs.
fn placement() -> Placement {
    let mut numbers = [0; PLACEMENT_KEYS.len()];
    for (key, number) in PLACEMENT_KEYS.into_iter().zip(&mut numbers) {
        *number = match key {
            "root" => fs::metadata("/").expect("there is one").dev(),
            kind => fs::metadata(format!("/proc/self/ns/{kind}")).map_or(0, |found| found.ino()),
        };
    }
    Placement::new(numbers)
}

/// Starts a command by `way`, that must run at `same`.
fn started_at(way: &[&str], same: Option<Placement>) -> (Option<i32>, String) {
    let mut arguments: Vec<&str> = way.to_vec();
    arguments.extend([env!("CARGO_BIN_EXE_lazaret-porter"), "run"]);
    for control in ["CON-01", "CON-02", "CON-03", "CON-04"] {
        arguments.extend(["--without", control]);
    }
    let same = same.map(|placement| placement.to_string());
    arguments.extend(same.iter().flat_map(|same| ["--same", same]));
    arguments.extend(["--", "/bin/echo", "started"]);
    let (program, arguments) = arguments.split_first().expect("not empty");
    let output = duct::cmd(*program, arguments)
        .stdin_null()
        .stdout_capture()
        .stderr_capture()
        .unchecked()
        .run()
        .expect("`unshare` of util-linux");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    (output.status.code(), said)
}

/// An engine's exec has landed in the host's network (podman#12741). Without the comparison, the
/// weakened start, such a command runs.
#[test]
fn con_27_a_later_process_starts_where_the_first_did_and_nowhere_else() {
    let started = (Some(0), "started\n".to_owned());
    assert_eq!(started_at(&[], Some(placement())), started);
    for (option, kind) in [
        ("--mount", "mnt"),
        ("--net", "net"),
        ("--ipc", "ipc"),
        ("--uts", "uts"),
        ("--cgroup", "cgroup"),
    ] {
        let elsewhere = ["unshare", option];
        let (code, said) = started_at(&elsewhere, Some(placement()));
        let refusal = format!("porter: refused: CON-27: another {kind} than the first command's\n");
        assert_eq!((code, said), (Some(125), refusal));
        assert_eq!(started_at(&elsewhere, None), started, "weakened: {option}");
    }
}
