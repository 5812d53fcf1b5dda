//! New files that git ignores stay in the copy.

use std::sync::Arc;

use lazaret_gate::case::Case;
use lazaret_gate::ignored::IgnoredFiles;
use lazaret_tree::RelPathBuf;
use lazaret_validator::{BlobId, ExcludeFile, GitIndex, Outcome};

use super::desk::{Desk, all, shown};

const BEFORE: &str = r#"f .gitignore "dist/\n*.log\n!keep.log\n"
    f a.txt "a\n""#;

/// What is offered, and what stays.
fn told(case: &Case) -> String {
    format!("{}{}", shown(&all(case)), case.ignored)
}

fn holds(case: &Case, path: &str) -> bool {
    case.ignored.holds(&path.parse::<RelPathBuf>().unwrap())
}

#[test]
fn new_files_that_git_ignores_stay_and_are_counted() {
    let session = r#"
        f a.txt "b\n"
        f b.txt "new\n"
        f dist/1.js "1"
        f dist/deep/2.js "2"
        d dist/empty
        f npm-debug.log "log"
        f sub/only.log "log"
        f sub/deep/only.log "log"
        f keep.log "kept"
        f z1.log "log"
    "#;
    let desk = Desk::new(BEFORE, session, "");
    let case = desk.case();
    insta::assert_snapshot!(told(&case), @r"
    a.txt: applies
    b.txt: applies
    keep.log: applies
    6 files that git ignores stay in the copy: dist/ (2), npm-debug.log, sub/deep/only.log and 2 more
    ");
    desk.apply(&case, all(&case)).unwrap();
    assert!(!desk.path("workspace/dist").exists());
    assert!(!desk.path("workspace/sub").exists());
    assert!(desk.path("workspace/keep.log").exists());
}

#[test]
fn ignored_files_are_judged_and_applied_if_they_are_asked_for() {
    let desk = Desk::new(BEFORE, r#"f dist/1.js "1""#, "");
    let case = desk.case();
    assert_eq!(shown(&all(&case)), "");
    let desk = Desk {
        ignored: IgnoredFiles::Offered,
        ..desk
    };
    let case = desk.case();
    insta::assert_snapshot!(shown(&all(&case)), @r"
    dist: applies
    dist/1.js: applies
    note git.ignored dist/1.js: git ignores it, so `git status` does not show it
    ");
    desk.apply(&case, all(&case)).unwrap();
    assert!(desk.path("workspace/dist/1.js").exists());
}

/// The session writes the rule that would hide its file, or deletes the one that hides it.
#[test]
fn the_ignore_files_from_before_the_run_decide() {
    let hiding = r#"f .gitignore "*\n"
        f evil.sh "rm -rf ~\n"
        f sub/.gitignore "*\n"
        f sub/evil.sh "rm -rf ~\n""#;
    let case = Desk::new(BEFORE, hiding, "").case();
    let told = told(&case);
    for path in [
        "evil.sh: applies",
        "sub/evil.sh: applies",
        ".gitignore: applies",
    ] {
        assert!(told.contains(path), "{told}");
    }
    assert!(case.ignored.places.is_empty(), "{told}");

    let showing = r#"f .gitignore ""
        f dist/1.js "1""#;
    let case = Desk::new(BEFORE, showing, "").case();
    assert!(holds(&case, "dist/1.js"));
}

#[test]
fn a_tracked_file_is_not_ignored() {
    let mut desk = Desk::new(
        BEFORE,
        r#"f dist/1.js "1"
        f dist/2.js "2""#,
        "",
    );
    let tracked = ("dist/1.js".parse().unwrap(), BlobId::of(b"0"));
    desk.policy.index = Some(Arc::new(GitIndex::from_iter([tracked])));
    insta::assert_snapshot!(told(&desk.case()), @r"
    dist: applies
    dist/1.js: applies
    note git.ignored dist/1.js: git ignores it, so `git status` does not show it
    1 file that git ignores stays in the copy: dist/ (1)
    ");
}

/// What the workspace has may be tracked, so it is a conflict.
#[test]
fn without_an_index_what_the_workspace_has_is_offered() {
    let desk = Desk::new(
        BEFORE,
        r#"f npm.log "theirs"
        f other.log "theirs""#,
        r#"f npm.log "mine""#,
    );
    insta::assert_snapshot!(told(&desk.case()), @r"
    npm.log: conflict: was created here too, with other contents
    1 file that git ignores stays in the copy: other.log
    ");
}

#[test]
fn what_was_sent_in_or_moved_is_offered() {
    let before = r#"f .gitignore "dist/\n"
        f .lazaretignore "!dist/\n"
        f a.txt "a long enough text\n"
        f dist/in.js "in\n""#;
    let session = r#"f dist/in.js "out\n"
        f dist/a.txt "a long enough text\n"
        f dist/new.js "new\n"
        - a.txt"#;
    let desk = Desk::new(before, session, "");
    let case = desk.case();
    let told = told(&case);
    assert!(told.contains("dist/in.js: applies"), "{told}");
    assert!(told.contains("dist/a.txt: applies"), "{told}");
    assert!(told.ends_with("in the copy: dist/ (1)"), "{told}");
}

#[test]
fn the_users_own_excludes_count_and_those_of_a_nested_repository_do_not() {
    let mut desk = Desk::new(
        r#"f a "a"
        f sub/.git "gitdir: ../.git/modules/sub\n""#,
        r#"f x.tmp "x"
        f sub/x.tmp "x""#,
        "",
    );
    desk.policy.git.add_excludes(ExcludeFile {
        contents: b"*.tmp\n".to_vec(),
        workspace: String::new(),
    });
    let case = desk.case();
    assert!(holds(&case, "x.tmp"));
    assert_eq!(case.ignored.places.len(), 1);
    assert_ne!(all(&case).outcome(), Outcome::Rejected);
}
