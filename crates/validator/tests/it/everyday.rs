//! Everyday work that stops nothing, and what of the same kind still does (SUS-31).

use lazaret_tests::tree_text::quote;
use lazaret_validator::Outcome;

use crate::{check, verdict};

fn file(path: &str, text: &str) -> String {
    let text = quote(text.as_bytes());
    let text = text.trim_matches('"');
    format!("f {path} \"{text}\"")
}

#[track_caller]
fn passes(before: &str, after: &str) {
    let is_clean = verdict(before, after).outcome == Outcome::Clean;
    assert!(is_clean, "{after}:\n{}", check(before, after));
}

#[track_caller]
fn stops(before: &str, after: &str) {
    let is_clean = verdict(before, after).outcome == Outcome::Clean;
    assert!(!is_clean, "{after}:\n{}", check(before, after));
}

#[test]
fn aud_02_a_script_that_becomes_executable() {
    for path in ["a.sh", "dev/a.py", "dev/a", "src/hooks/a.sh"] {
        let (before, after) = (file(path, "echo"), format!("x {path} \"echo\""));
        passes(&before, &after);
        assert!(check(&before, &after).contains("note mode.executable"));
    }
    for (path, text) in [
        ("a", "echo"),
        ("bin/a.sh", "echo"),
        ("tools/a", "echo"),
        (".tool/a.sh", "echo"),
        ("hooks/pre-commit", "echo"),
        ("hooks/post_gen_project.sh", "echo"),
        ("dev/a.sh", r"\0binary"),
    ] {
        let plain = format!("f {path} \"{text}\"");
        stops(&plain, &format!("x {path} \"{text}\""));
    }
    // What was no file before was not looked at.
    stops("l a.sh -> b\nf b \"1\"", "x a.sh \"echo\"\nf b \"1\"");
}

#[test]
fn aud_02_a_new_script_below_the_top_is_run_by_its_name() {
    let script = r"#!/bin/sh\n";
    for path in ["dev/ci/test", "testdata/tool/tool", "src/hooks/state.sh"] {
        passes("", &format!("x {path} \"{script}\""));
    }
    for (path, text) in [
        ("run", script),
        ("tools/run", script),
        ("scripts/run", script),
        ("sbin/run", script),
        ("dev/hooks/post-checkout", script),
        ("dev/.tool/run", script),
        ("dev/run", r"\0binary"),
        ("dev/run.sh", r"\0binary"),
        ("dev/Toolfile", script),
    ] {
        stops("", &format!("x {path} \"{text}\""));
    }
}

#[test]
fn sus_18_a_conftest_that_comes_with_its_tests() {
    let before = "f tests/test_a.py \"a\"";
    let with = |path: &str, text: &str| format!("{before}\n{}", file(path, text));
    passes(before, &with("new/tests/conftest.py", "import pytest\n"));
    for text in ["import subprocess\n", "def pytest_configure(config):\n"] {
        stops(before, &with("new/tests/conftest.py", text));
    }
    stops(before, &with("tests/conftest.py", "import pytest\n"));
}
