//! What is deleted.

use insta::assert_snapshot;

use crate::check;

#[test]
fn aud_03_deletions_are_shown() {
    assert_snapshot!(check("f .envrc \"1\"\nf CODEOWNERS \"1\"\nf .gitignore \"1\"", ""), @"
    warn suspect.directory_env .envrc: was deleted: runs when a shell enters the directory
    warn deleted.ignore_file .gitignore: was deleted: git will show, and `git add` take, what it hid
    note suspect.secret .envrc: was deleted: may hold a secret
    note suspect.review_routing CODEOWNERS: was deleted: decides who reviews, and which updates come in
    = needs review
    - .envrc
    - .gitignore
    - CODEOWNERS
    ");
}

#[test]
fn aud_03_tests() {
    let before = "
        f src/lib.rs \"l\"
        f src/a_test.go \"1\"
        f src/b.test.ts \"2\"
        f src/test_c.py \"3\"
        f src/d_spec.rb \"4\"
        f src/moved_test.go \"5\"
        f src/edited_test.go \"6\"
        f tests/a/x \"7\"
        f tests/a/y \"8\"
        f tests/__init__.py \"\"
        f kept/tests/z \"9\"
        f kept/tests/w \"w\"
        f .git/test/x \"g\"
    ";
    assert_snapshot!(check(before, "
        f src/lib.rs \"l\"
        f go/moved_test.go \"5\"
        f src/edited_test.go \"66\"
        f kept/tests/w \"w\"
        d .git/
    "), @"
    warn deleted.many kept/tests/z: 8 of 12 files are deleted or emptied, this one with them
    warn deleted.test kept/tests/z: was deleted: a test, by its name
    warn deleted.test src/a_test.go: was deleted: a test, by its name
    warn deleted.test src/b.test.ts: was deleted: a test, by its name
    warn deleted.test src/d_spec.rb: was deleted: a test, by its name
    warn deleted.test src/test_c.py: was deleted: a test, by its name
    warn deleted.test tests: was deleted, with 2 tests or parts of them
    = needs review
    + go
    + go/moved_test.go
    - kept/tests/z
    - src/a_test.go
    - src/b.test.ts
    - src/d_spec.rb
    ~ src/edited_test.go
    - src/moved_test.go
    - src/test_c.py
    - tests
    - tests/__init__.py
    - tests/a
    - tests/a/x
    - tests/a/y
    withheld .git/test: git
    withheld .git/test/x: git
    ");
}

#[test]
fn aud_03_making_and_editing_tests_is_no_finding() {
    let before = "f tests/a \"1\"\nf .gitignore \"x\"";
    let after = "f tests/a \"2\"\nf tests/b \"1\"\nf .gitignore \"x\"";
    assert_eq!(check(before, after), "= clean\n~ tests/a\n+ tests/b\n");
}
