//! From a verdict to an approval.

use std::collections::BTreeSet;

use lazaret_tree::{Change, Digest, RelPathBuf, diff};
use lazaret_validator::{
    Allowance, Outcome, Policy, Severity, Subject, WithheldReason, is_allowable, split,
};

use crate::{Memory, check_by, tree, verdict, verdict_by};

#[test]
fn approval_is_bound_to_what_would_be_applied() {
    let validated = verdict("", "f a \"1\"\nl bad -> /etc").validated.unwrap();
    let digest = validated.digest();
    let wrong = validated.clone().approve(Digest::of(b"other")).unwrap_err();
    assert_eq!(wrong.actual, digest);
    let approved = validated.approve(digest).unwrap();
    assert_eq!(approved.digest(), digest);
    let paths: Vec<_> = approved.changes().iter().map(|c| c.path.as_str()).collect();
    assert_eq!(paths, ["a"]);
}

#[test]
fn every_part_of_a_change_changes_the_digest() {
    let digest = |before, after| verdict(before, after).validated.unwrap().digest();
    let digests = [
        digest("", "f a \"1\""),
        digest("", "x a \"1\""),
        digest("", "f a \"2\""),
        digest("", "f b \"1\""),
        digest("f a \"0\"", "f a \"1\""),
        digest("x a \"0\"", "f a \"1\""),
        digest("f a \"1\"", ""),
        digest("", "d a/"),
        digest("", "l a -> 1"),
        digest("", "f a \"1\"\nf b \"1\""),
        digest("", ""),
    ];
    for (i, one) in digests.iter().enumerate() {
        assert!(!digests[..i].contains(one), "{i}");
    }
    // What is withheld is no part of it.
    assert_eq!(digest("", "f a \"1\"\nl z -> /"), digests[0]);
}

#[test]
fn what_is_left_out_takes_along_what_depends_on_it() {
    let validated = verdict("f gone/x \"1\"", "f a \"1\"\nf d/e/f \"1\"")
        .validated
        .unwrap();
    let before = validated.digest();
    let changes = validated.changes().to_vec();
    let reasons = changes.iter().map(|change| match change.path.as_str() {
        "d/e" | "gone/x" => Some(WithheldReason::LeftOut),
        _ => None,
    });
    let (kept, withheld) = split(changes.clone(), reasons.collect(), &BTreeSet::new());
    let paths = |paths: &mut dyn Iterator<Item = &Change>| -> Vec<String> {
        paths.map(|change| change.path.to_string()).collect()
    };
    assert_eq!(paths(&mut kept.iter().map(|change| &**change)), ["a", "d"]);
    let left = ["d/e", "d/e/f", "gone", "gone/x"];
    let held: Vec<&str> = withheld.iter().map(|held| held.path.as_str()).collect();
    assert_eq!(held, left);
    // What was withheld before the rules ran is no part of what is approved.
    assert_eq!(validated.with_withheld(withheld).digest(), before);
}

#[test]
fn aud_08_block_findings_need_a_person() {
    let verdict = verdict("", "f a \"1\"\nf .envrc \"x\"");
    assert_eq!(verdict.outcome, Outcome::NeedsReview);
    let path = lazaret_tree::RelPath::new(".envrc").unwrap();
    let finding = verdict.about(path).next().unwrap();
    assert_eq!(finding.severity, Severity::Block);
    assert_eq!(finding.subject, Subject::Path(path.to_owned()));
}

#[test]
fn nothing_changed() {
    let verdict = verdict("f a \"1\"", "f a \"1\"");
    assert_eq!(verdict.outcome, Outcome::Clean);
    assert!(verdict.validated.unwrap().is_empty());
}

/// Judges with the change at `path` allowed, as far as `code` goes.
fn allowing(code: &str, path: &str, before: &str, after: &str) -> Policy {
    let mut contents = Memory::default();
    let (before, after) = (tree(before, &mut contents), tree(after, &mut contents));
    let changes = diff(&before, &after);
    let change = changes.get(path.parse::<RelPathBuf>().as_deref().unwrap());
    let allowance = Allowance::of(change.unwrap(), code);
    Policy {
        allowed: vec![allowance],
        ..Policy::shipped()
    }
}

#[test]
fn an_allowed_change_passes_and_is_still_named() {
    let after = "f .envrc \"x\"\nl bad -> /etc";
    let policy = allowing("suspect.directory_env", ".envrc", "", after);
    insta::assert_snapshot!(check_by(&policy, "", after), @r"
    block suspect.directory_env .envrc: runs when a shell enters the directory (allowed)
    block link.absolute bad: leads to the absolute path `/etc`
    warn suspect.secret .envrc: may hold a secret
    = needs review
    + .envrc
    withheld bad: link.absolute
    ");
}

#[test]
fn an_allowance_is_for_exactly_one_change() {
    let policy = allowing("suspect.directory_env", ".envrc", "", "f .envrc \"x\"");
    for (before, after) in [
        ("", "f .envrc \"y\""),
        ("", "x .envrc \"x\""),
        ("f .envrc \"w\"", "f .envrc \"x\""),
        ("", "f sub/.envrc \"x\""),
    ] {
        let verdict = verdict_by(&policy, before, after);
        assert!(
            verdict.findings.iter().all(|finding| !finding.allowed),
            "{after}"
        );
        let changes = verdict.validated.unwrap();
        let names = changes
            .changes()
            .iter()
            .map(|change| change.path.file_name());
        assert!(names.clone().all(|name| name != ".envrc"), "{after}");
    }
}

#[test]
fn a_clean_rest_with_an_allowed_block_is_clean() {
    let after = "f .vscode/tasks.json \"x\"\nf a \"1\"";
    let policy = allowing("suspect.vscode", ".vscode/tasks.json", "", after);
    assert_eq!(verdict_by(&policy, "", after).outcome, Outcome::Clean);
}

/// A policy can't allow an entry without bytes, a path in `.git`, or a limit.
#[test]
fn some_codes_can_never_be_allowed() {
    let after = "f d/.git/config \"x\"";
    for path in ["d/.git", "d/.git/config"] {
        let policy = allowing("git.nested", path, "", after);
        let validated = verdict_by(&policy, "", after).validated.unwrap();
        let git =
            |change: &&std::sync::Arc<Change>| change.path.components().any(|name| name == ".git");
        assert_eq!(validated.changes().iter().filter(git).count(), 0, "{path}");
    }
    for code in [
        "git.hook",
        "git.redirect",
        "limit.entries",
        "limit.file_bytes",
        "type.fifo",
        "type.device",
        "link.git",
        "content.unreadable",
    ] {
        assert!(!is_allowable(code), "{code}");
    }
    for code in [
        "suspect.vscode",
        "link.absolute",
        "name.invisible",
        "git.bare",
    ] {
        assert!(is_allowable(code), "{code}");
    }
}
