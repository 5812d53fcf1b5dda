//! From a verdict to an approval.

use lazaret_transfer::Digest;
use lazaret_validator::{Outcome, Selected, Severity, Subject};

use crate::verdict;

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
fn selection_takes_along_what_depends_on_it() {
    let validated = verdict("f gone/x \"1\"", "f a \"1\"\nf d/e/f \"1\"")
        .validated
        .unwrap();
    let before = validated.digest();
    let validated = validated.select(|path| match path.as_str() {
        "d/e" | "gone/x" => Selected::LeaveOut,
        _ => Selected::Keep,
    });
    let applied: Vec<_> = validated
        .changes()
        .iter()
        .map(|c| c.path.as_str())
        .collect();
    assert_eq!(applied, ["a", "d"]);
    let withheld: Vec<_> = validated
        .withheld()
        .iter()
        .map(|w| w.change.path.as_str())
        .collect();
    assert_eq!(withheld, ["d/e", "d/e/f", "gone", "gone/x"]);
    assert_ne!(validated.digest(), before);
}

#[test]
fn aud_08_block_findings_need_a_person() {
    let verdict = verdict("", "f a \"1\"\nf .envrc \"x\"");
    assert_eq!(verdict.outcome, Outcome::NeedsReview);
    let path = lazaret_transfer::RelPath::new(".envrc").unwrap();
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
