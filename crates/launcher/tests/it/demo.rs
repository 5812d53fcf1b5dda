//! The sample project and the agents of the demo.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use lazaret_launcher::demo;

/// Runs `program` in `dir` and returns its stdout; stderr goes to the test's own.
#[track_caller]
fn run(dir: &Path, program: &str, arguments: &[&str]) -> String {
    duct::cmd(program, arguments)
        .dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .read()
        .unwrap()
}

fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    demo::materialise(dir.path()).unwrap();
    dir
}

fn files_below(root: &Path, dir: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(root, &path, found);
        } else {
            found.insert(
                path.strip_prefix(root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned(),
            );
        }
    }
}

#[test]
fn every_file_of_the_sample_project_is_built_in() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo/project");
    let mut expected = BTreeSet::new();
    files_below(&source, &source, &mut expected);
    let built_in: BTreeSet<_> = demo::project_files()
        .iter()
        .map(|file| file.path.to_owned())
        .filter(|path| !path.starts_with(".git/"))
        .collect();
    assert_eq!(built_in, expected);
}

#[test]
fn the_history_is_that_of_the_files() {
    let dir = project();
    run(dir.path(), "git", &["fsck", "--strict"]);
    assert_eq!(run(dir.path(), "git", &["status", "--porcelain"]), "");
    insta::assert_snapshot!(run(dir.path(), "git", &["log", "--format=%h %ad %s", "--date=short"]), @"
    7a6a358 2025-03-05 Test the answers
    fc8b526 2025-03-04 Answer how many ships and how long they are
    e3e32a5 2025-03-03 Keep the register in a file
    ");
}

#[test]
fn the_good_agent_repairs_the_project() {
    let dir = project();
    run(dir.path(), "sh", &["-c", demo::GOOD]);
    let checks = run(dir.path(), "sh", &["tests/run.sh"]);
    insta::assert_snapshot!(checks, @"
    ok      tests/count.test
    ok      tests/longest.test
    ok      tests/total.test
    ");
    insta::assert_snapshot!(run(dir.path(), "git", &["status", "--porcelain", "-uall"]), @"
     M bin/harbour
     D docs/old-notes.md
    ?? docs/changes.md
    ?? tests/longest.test
    ");
}

/// Runs nowhere but in a container; here its syntax is looked at, no more.
#[test]
fn the_hostile_agent_is_a_shell_script() {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), "sh", &["-n", "-c", demo::HOSTILE]);
}

#[test]
fn a_file_that_exists_is_not_overwritten() {
    let dir = project();
    insta::assert_snapshot!(
        demo::materialise(dir.path()).unwrap_err().to_string().replace(dir.path().to_str().unwrap(), "<dir>"),
        @"write the sample project: <dir>/.git/HEAD: File exists (os error 17)"
    );
}
