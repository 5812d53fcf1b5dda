//! `porter run --poised`: nothing runs before the word, and nothing but the word is one.

use std::path::Path;
use std::process::Output;

/// Holds a command that leaves a mark, says `word`, and closes stdin.
fn poised(dir: &Path, word: &[u8]) -> Output {
    let mut arguments = vec!["run"];
    // Here nothing is confined; what is checked of that has its tests elsewhere.
    for control in ["CON-01", "CON-02", "CON-03", "CON-04"] {
        arguments.extend(["--without", control]);
    }
    let dir = dir.to_str().expect("a name that we chose");
    arguments.extend(["--poised", dir]);
    arguments.extend(["--", "/bin/sh", "-c", "touch mark; pwd; cat; echo end"]);
    duct::cmd(env!("CARGO_BIN_EXE_lazaret-porter"), arguments)
        .stdin_bytes(word)
        .stdout_capture()
        .stderr_capture()
        .unchecked()
        .run()
        .expect("it was built")
}

#[test]
fn nothing_but_the_word_starts_a_poised_command() {
    for word in [&b""[..], b"g", b"go", b"no\n", b"Go\n", b"\ngo\n", b"go\r"] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let Output {
            status,
            stdout,
            stderr,
        } = poised(dir.path(), word);
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
    // What follows the word is nobody's: the command finds the end at once.
    let output = poised(&later, b"go\nmore");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, format!("{}\nend\n", later.display()));
    assert!(output.status.success() && later.join("mark").exists());
}

#[test]
fn a_poised_command_without_its_directory_does_not_start() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output = poised(&dir.path().join("missing"), b"go\n");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("enter the directory"), "{said}");
}
