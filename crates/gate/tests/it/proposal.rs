//! What is proposed, and that exactly this is applied.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use lazaret_gate::choices::{Choices, Pick};
use lazaret_gate::file_diff::FileDiff;
use lazaret_transfer::{ApplyError, undo};
use lazaret_tree::{RelPath, Tree};
use lazaret_validator::{Allowance, Outcome};

use super::desk::{Base, Desk, all, picks, read, refused, shown};

const LINES: &str = r#"f text "1\n2\n3\n4\n5\n6\n7\n8\n9\n""#;
/// The session changes the end of the text, and something else.
const SESSION: &str = r#"
    f text "1\n2\n3\n4\n5\n6\n7\n8\nnine\n"
    f new "new\n"
"#;

#[test]
fn app_06_edits_apart_are_merged() {
    let host = r#"f text "one\n2\n3\n4\n5\n6\n7\n8\n9\n""#;
    let desk = Desk::new(LINES, SESSION, host);
    let case = desk.case();
    let proposal = all(&case);
    assert_snapshot!(shown(&proposal), @r"
    new: applies
    text: applies (merged)
    ");
    assert_eq!(proposal.outcome(), Outcome::Clean);
    desk.apply(&case, proposal).unwrap();
    let text = read(&desk.path("workspace"), "text");
    assert_eq!(text, "one\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    // The undo brings the user's version back, not what was sent in (APP-18).
    undo(&desk.journal(1), case.contents.workspace()).unwrap();
    assert_eq!(
        desk.workspace(),
        "f text \"one\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n9\\n\"\n"
    );
}

#[test]
fn app_06_edits_of_one_line_keep_both_versions() {
    let host = r#"f text "1\n2\n3\n4\n5\n6\n7\n8\nneuf\n""#;
    let desk = Desk::new(LINES, SESSION, host);
    let case = desk.case();
    assert_snapshot!(shown(&all(&case)), @r"
    new: applies
    text: conflict: was changed here too
    ");
    let plan = desk.apply(&case, all(&case)).unwrap();
    assert_eq!((plan.left, plan.held, plan.all), (1, 0, 2));
    assert_snapshot!(desk.workspace(), @r#"
    f new "new\n"
    f text "1\n2\n3\n4\n5\n6\n7\n8\nneuf\n"
    "#);
    // The session's version is still to be had, by name only, and can be given back.
    let case = desk.case();
    let theirs = case
        .propose(&picks(&[("text", Pick::SessionVersion)]))
        .unwrap();
    assert_snapshot!(shown(&theirs), @r"
    new: already
    text: applies (theirs)
    ");
    desk.apply(&case, theirs).unwrap();
    assert!(read(&desk.path("workspace"), "text").ends_with("nine\n"));
    undo(&desk.journal(2), case.contents.workspace()).unwrap();
    assert!(read(&desk.path("workspace"), "text").ends_with("neuf\n"));
}

#[test]
fn app_06_without_the_base_nothing_is_merged() {
    let host = r#"f text "one\n2\n3\n4\n5\n6\n7\n8\n9\n""#;
    let mut desk = Desk::new(LINES, SESSION, host);
    desk.base = Base::Lost;
    assert_snapshot!(shown(&all(&desk.case())), @r"
    new: applies
    text: conflict: was changed here too
    ");
}

#[test]
fn app_06_what_is_no_text_is_not_merged() {
    let desk = Desk::new(
        r#"f blob "a\0b"
           f latin "\xe4\n2\n3\n"
           f bit "a\0b""#,
        r#"f blob "a\0c"
           f latin "\xe4\n2\ndrei\n"
           m 755 bit"#,
        r#"f blob "b\0b"
           f latin "\xf6\n2\n3\n"
           f bit "b\0b""#,
    );
    let case = desk.case();
    // The execute bit merges whatever the contents are.
    assert_snapshot!(shown(&all(&case)), @r"
    bit: applies (merged)
    blob: conflict: was changed here too
    latin: conflict: was changed here too
    warn mode.executable bit: becomes executable
    ");
    desk.apply(&case, all(&case)).unwrap();
    assert_snapshot!(desk.workspace(), @r#"
    x bit "b\0b"
    f blob "b\0b"
    f latin "\xf6\n2\n3\n"
    "#);
}

#[test]
fn app_07_an_edit_after_the_review_stops_all_of_it() {
    let host = r#"f text "one\n2\n3\n4\n5\n6\n7\n8\n9\n""#;
    let desk = Desk::new(LINES, SESSION, host);
    let mut case = desk.case();
    let proposal = all(&case);
    desk.edit(r#"f text "uno\n2\n3\n4\n5\n6\n7\n8\n9\n""#);
    let before = desk.workspace();
    let error = desk.apply(&case, proposal).unwrap_err();
    assert!(matches!(error, ApplyError::Conflicts(_)), "{error}");
    assert_eq!(desk.workspace(), before);
    // Looked at again, it merges with what is there now.
    case.refresh().unwrap();
    desk.apply(&case, all(&case)).unwrap();
    assert_eq!(
        read(&desk.path("workspace"), "text"),
        "uno\n2\n3\n4\n5\n6\n7\n8\nnine\n"
    );
}

#[test]
fn app_08_deleted_added_and_of_another_type() {
    let desk = Desk::new(
        r#"f deleted "1\n"
           f type "1\n"
           f gone "1\n"
           f d/inside "1\n""#,
        r#"f deleted "2\n"
           f added "agent\n"
           f type "2\n"
           - gone
           - d"#,
        r#"- deleted
           f added "user\n"
           - type
           l type -> gone
           f gone "user\n"
           f d/mine "user\n""#,
    );
    let case = desk.case();
    assert_snapshot!(shown(&all(&case)), @r"
    added: conflict: was created here too, with other contents
    d: conflict: is to be removed, but holds `mine`, which the session does not know
    d/inside: depends on d
    deleted: conflict: was deleted here
    gone: conflict: was changed here too
    type: conflict: has become something of another type here
    ");
    let before = desk.workspace();
    let plan = desk.apply(&case, all(&case)).unwrap();
    assert_eq!((plan.left, plan.held, plan.all), (6, 0, 6));
    assert_eq!(desk.workspace(), before);
}

#[test]
fn app_09_the_same_edit_is_nothing_to_do() {
    let desk = Desk::new(LINES, SESSION, SESSION);
    let case = desk.case();
    let proposal = all(&case);
    assert_snapshot!(shown(&proposal), @r"
    new: already
    text: already
    ");
    assert_eq!(proposal.changes(), []);
    // One of two is there already: only the other is applied.
    desk.edit("- new");
    let case = desk.case();
    assert_snapshot!(shown(&all(&case)), @r"
    new: applies
    text: already
    ");
}

/// Two hunks in one file; the user picks one, and later the other.
#[test]
fn p3_hunks_are_applied_as_they_were_shown() {
    let base: String = (0..30).map(|n| format!("{n}\\n")).collect();
    let agent = base
        .replace("\\n3\\n", "\\nthree\\n")
        .replace("\\n25\\n", "\\nxxv\\n");
    let desk = Desk::new(
        &format!("f text \"{base}\""),
        &format!("x text \"{agent}\""),
        "",
    );
    let case = desk.case();
    let whole = all(&case);
    let (old, new) = case.texts(&whole.changes()[0]).unwrap();
    assert_eq!(FileDiff::new(&old, &new).hunks().len(), 2);
    let second = Pick::Hunks(BTreeSet::from([1]));
    let proposal = case.propose(&picks(&[("text", second)])).unwrap();
    assert_snapshot!(shown(&proposal), @r"
    text: applies (hunks)
    ");
    assert_ne!(proposal.digest(), whole.digest());
    // An approval of the whole is none of the part.
    let digest = whole.digest().unwrap();
    assert!(proposal.clone().approve(digest).is_err());
    desk.apply(&case, proposal).unwrap();
    let expected = base.replace("\\n25\\n", "\\nxxv\\n");
    assert_eq!(desk.workspace(), format!("f text \"{expected}\"\n"));
    // The rest merges with what is there.
    let case = desk.case();
    assert_snapshot!(shown(&all(&case)), @r"
    text: applies (merged)
    warn mode.executable text: becomes executable
    ");
    desk.apply(&case, all(&case)).unwrap();
    assert_eq!(desk.workspace(), format!("x text \"{agent}\"\n"));
}

#[test]
fn p3_hunks_of_nothing_and_of_no_text() {
    let desk = Desk::new(LINES, "f text \"\\0\"\nf new \"1\\n\"", "");
    let case = desk.case();
    let none = Pick::Hunks(BTreeSet::new());
    let first = Pick::Hunks(BTreeSet::from([0]));
    let refusal = case.propose(&picks(&[("text", first.clone())]));
    assert_snapshot!(refused(refusal), @r"
    text is no text that could be taken in parts
    ");
    let proposal = case.propose(&picks(&[("new", none), ("text", Pick::Leave)]));
    assert_snapshot!(shown(&proposal.unwrap()), @r"
    new: left out
    text: left out
    ");
    let proposal = case.propose(&picks(&[("new", first), ("text", Pick::Leave)]));
    assert_snapshot!(shown(&proposal.unwrap()), @r"
    new: applies
    text: left out
    ");
}

/// The rules look at the bytes that come of a merge, which neither side has seen.
#[test]
fn p3_the_judge_sees_what_is_merged() {
    let host = r#"f text "one, and much more\n2\n3\n4\n5\n6\n7\n8\n9\n""#;
    let mut desk = Desk::new(LINES, SESSION, host);
    desk.policy.limits.file_bytes = 30;
    let proposal = all(&desk.case());
    assert_eq!(proposal.outcome(), Outcome::Rejected);
    assert_eq!(proposal.changes(), []);
    assert_snapshot!(shown(&proposal), @r"
    new: applies
    text: applies (merged)
    block limit.file_bytes text: 38 bytes, and 30 are allowed
    ");
}

/// What would be written has the digest that was shown: the tree that the changes make of
/// the workspace is the workspace afterwards.
#[test]
fn p3_the_tree_that_was_shown_is_the_tree_that_is_there() {
    let before = r#"
        f a "1\n2\n3\n4\n5\n"
        f b "1\n"
        f dir/c "1\n"
        x tool "1\n"
    "#;
    let session = r#"
        f a "1\n2\n3\n4\nfive\n"
        - b
        f dir/c "2\n"
        f dir/sub/d "new\n"
        m 644 tool
    "#;
    let host = r#"
        x a "one\n2\n3\n4\n5\n"
        f dir/mine "mine\n"
    "#;
    let desk = Desk::new(before, session, host);
    let case = desk.case();
    let proposal = all(&case);
    let mut expected = tree(&desk);
    for change in proposal.changes() {
        assert_eq!(expected.get(&change.path), change.before.as_ref());
        match &change.after {
            Some(entry) => drop(expected.insert(change.path.clone(), entry.clone())),
            None => drop(expected.remove(&change.path)),
        }
    }
    let (shown, changes) = (proposal.digest(), proposal.changes().to_vec());
    let plan = desk.apply(&case, proposal).unwrap();
    assert_eq!(Some(plan.approved.digest()), shown);
    assert_eq!(plan.approved.changes(), changes);
    assert_eq!(tree(&desk), expected);
}

fn tree(desk: &Desk) -> Tree {
    let selection = lazaret_transfer::SelectionSpec {
        git: lazaret_transfer::GitMode::None,
        exclude: Vec::new(),
    };
    let dir = lazaret_transfer::WorkspaceDir::open_ambient(&desk.path("workspace")).unwrap();
    let hashing = lazaret_transfer::Hashing::parallel();
    lazaret_transfer::walk(&dir, &selection.compile().unwrap(), hashing)
        .unwrap()
        .tree
}

/// `x` stays inside only while `a` is the session's link. If the user or the gate leaves `a` out,
/// `x` leads out of the workspace and must not be applied.
#[test]
fn tar_07_a_link_is_judged_without_what_is_left_out() {
    let before = r#"f a/file "1\n""#;
    let session = "- a\nf b/c/d \"1\\n\"\nl a -> b/c\nl x -> a/../..";
    let desk = Desk::new(before, session, "");
    let case = desk.case();
    assert!(shown(&all(&case)).contains("x: applies"));
    let left = case.propose(&picks(&[("a", Pick::Leave)])).unwrap();
    assert_snapshot!(shown(&left), @r"
    a: left out
    a/file: depends on a
    b: applies
    b/c: applies
    b/c/d: applies
    x: blocked: link.escape
    block link.escape x: `a/../..` leads out of the workspace
    ");
    // The same when it is a rule that holds it back.
    let mut desk = Desk::new(before, session, "");
    desk.policy.protect = vec!["a".parse().unwrap()];
    assert_snapshot!(shown(&all(&desk.case())), @"
    a: blocked: path.protected
    a/file: blocked: path.protected
    b: depends on b/c
    b/c: depends on b/c/d
    b/c/d: blocked: path.protected
    x: blocked: link.escape
    block path.protected a: `a` is protected by the profile
    block path.protected a/file: `a` is protected by the profile
    block path.protected b/c/d: as `a/d`, by the link `a`: `a` is protected by the profile
    block link.escape x: `a/../..` leads out of the workspace
    ");
}

#[test]
fn a_rejected_batch_is_not_passed_in_parts() {
    let mut desk = Desk::new("", "f a \"1\\n\"\nf b \"1\\n\"\nf c \"1\\n\"", "");
    desk.policy.limits.entries = 2;
    let case = desk.case();
    let mut one = Choices::none();
    one.pick(RelPath::new("a").unwrap(), Pick::Take);
    let proposal = case.propose(&one).unwrap();
    assert_eq!(
        (proposal.outcome(), proposal.digest()),
        (Outcome::Rejected, None)
    );
}

#[test]
fn what_is_allowed_by_name_is_applied() {
    let session = "f .vscode/tasks.json \"{}\\n\"\nf a \"1\\n\"";
    let desk = Desk::new("", session, "");
    let case = desk.case();
    let path = RelPath::new(".vscode/tasks.json").unwrap();
    let proposal = all(&case);
    assert_snapshot!(shown(&proposal), @r"
    .vscode: depends on .vscode/tasks.json
    .vscode/tasks.json: blocked: suspect.vscode
    a: applies
    block suspect.vscode .vscode/tasks.json: tasks and settings take effect when the folder is opened
    ");
    let item = proposal.item(path).unwrap();
    assert!(item.is_allowable());
    let mut choices = Choices::all();
    choices.allow(Allowance::of(item.proposed(), "suspect.vscode"));
    let proposal = case.propose(&choices).unwrap();
    assert_snapshot!(shown(&proposal), @r"
    .vscode: applies
    .vscode/tasks.json: applies
    a: applies
    block suspect.vscode .vscode/tasks.json: tasks and settings take effect when the folder is opened (allowed)
    ");
    desk.apply(&case, proposal).unwrap();
    assert_snapshot!(desk.workspace(), @r#"
    f .vscode/tasks.json "{}\n"
    f a "1\n"
    "#);
    // It was for these bytes.
    let other = Desk::new("", "f .vscode/tasks.json \"{ }\\n\"", "");
    assert!(shown(&other.case().propose(&choices).unwrap()).contains("blocked"));
    choices.disallow(path);
    assert!(shown(&case.propose(&choices).unwrap()).contains("blocked"));
}

/// Of what is held back, nothing is left behind: no empty directory either.
#[test]
fn no_directory_is_made_for_what_is_held_back() {
    let session = "f d/e/.envrc \"x\"\nf d/f/g \"1\\n\"\nd empty/";
    let desk = Desk::new("", session, "");
    let case = desk.case();
    let proposal = all(&case);
    assert_snapshot!(shown(&proposal), @r"
    d: applies
    d/e: depends on d/e/.envrc
    d/e/.envrc: blocked: suspect.directory_env
    d/f: applies
    d/f/g: applies
    empty: applies
    block suspect.directory_env d/e/.envrc: runs when a shell enters the directory
    warn suspect.secret d/e/.envrc: may hold a secret
    ");
    let digest = proposal.digest();
    let plan = desk.apply(&case, proposal).unwrap();
    assert_eq!(Some(plan.approved.digest()), digest);
    assert_eq!((plan.left, plan.held, plan.all), (0, 2, 6));
    assert_snapshot!(desk.workspace(), @r#"
    f d/f/g "1\n"
    d empty/
    "#);
}
