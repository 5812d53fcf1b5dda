//! Renames whose new place is withheld (APP-27).

use std::collections::BTreeSet;

use insta::assert_snapshot;
use lazaret_tree::{RejectedEntry, finding_code};
use lazaret_validator::Policy;

use crate::{check, check_by, render, verdict_with};

/// What is withheld, one line each.
fn withheld(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("block "));
    let lines = lines.filter(|line| !line.starts_with("warn ") && !line.starts_with("note "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn app_27_a_rename_to_a_blocked_place_leaves_the_file_where_it_is() {
    let before = "f ci.yml \"on: push\"\nf other \"o\"";
    let after = "f .github/workflows/ci.yml \"on: push\"";
    assert_snapshot!(withheld(&check(before, after)), @r"
    = needs review
    + .github
    + .github/workflows
    - other
    withheld .github/workflows/ci.yml: suspect.ci
    withheld ci.yml: moved to .github/workflows/ci.yml
    ");
    let alone = Policy {
        alone: BTreeSet::from(["ci.yml".parse().unwrap()]),
        ..Policy::shipped()
    };
    assert_snapshot!(withheld(&check_by(&alone, before, after)), @r"
    = needs review
    + .github
    + .github/workflows
    - ci.yml
    - other
    withheld .github/workflows/ci.yml: suspect.ci
    ");
}

#[test]
fn app_27_what_else_is_renamed_stays_as_a_whole() {
    // A directory, with an empty file in it; a link; and what was moved over something else.
    let before = "f p/tasks.json \"{1}\"\nf p/empty \"\"\nl link -> p\nf a \"1\"\nf .envrc \"2\"";
    let after = "f .vscode/tasks.json \"{1}\"\nf .vscode/empty \"\"\nl .envrc -> p\nf b \"2\"";
    assert_snapshot!(withheld(&check(before, after)), @r"
    = needs review
    + .vscode
    + .vscode/empty
    - a
    + b
    - p/empty
    withheld .envrc: suspect.directory_env
    withheld .vscode/tasks.json: suspect.vscode
    withheld link: moved to .envrc
    withheld p: keeps p/tasks.json
    withheld p/tasks.json: moved to .vscode/tasks.json
    ");
}

/// What a batch can't bring may be what was deleted: of a name that is not carried nothing
/// is read.
#[test]
fn app_27_a_file_may_have_been_moved_to_a_name_that_is_not_carried() {
    let refusal = |name: &[u8]| {
        RejectedEntry::new(
            name.to_vec(),
            finding_code::NAME_ENCODING,
            "not UTF-8".to_owned(),
        )
    };
    let before = "f a \"1\"\nf b \"2\"\nf d/c \"3\"";
    let with = |refusals: &[RejectedEntry]| {
        let verdict = verdict_with(&Policy::shipped(), refusals, before, "f moved \"2\"");
        withheld(&render(&verdict))
    };
    assert_snapshot!(with(&[refusal(b"bad\xff")]), @r"
    = needs review
    - b
    + moved
    withheld a: moved to bad\xff
    withheld d: keeps d/c
    withheld d/c: moved to bad\xff
    ");
    // What was looked at is no place for a file: a FIFO, and what lies in `.git`.
    let fifo = RejectedEntry::new(
        b"fifo".to_vec(),
        finding_code::TYPE_FIFO,
        "a FIFO".to_owned(),
    );
    assert_snapshot!(with(&[fifo, refusal(b".git/\xff")]), @r"
    = needs review
    - a
    - b
    - d
    - d/c
    + moved
    ");
}

#[test]
fn app_27_common_contents_couple_as_many_as_are_withheld() {
    let before = "f a/x \"c\"\nf a/y \"c\"\nf b/x \"c\"\nf b/.envrc \"c\"\nf e \"\"\nf g \"\"";
    assert_snapshot!(withheld(&check(before, "f n/.envrc \"c\"\nf m/.envrc \"\"")), @r"
    = needs review
    - a
    - a/x
    - a/y
    - b/x
    - e
    - g
    + m
    + n
    withheld b: keeps b/.envrc
    withheld b/.envrc: moved to n/.envrc
    withheld m/.envrc: suspect.directory_env
    withheld n/.envrc: suspect.directory_env
    ");
}

/// Names in the workspace's root like that of a staging directory are withheld, not the batch.
#[test]
fn app_29_names_of_staging_directories_are_withheld_by_name() {
    let after = "f .lazaret-0123456789abcdef/0 \"x\"\nf sub/.lazaret-1 \"y\"\nf a \"1\"";
    assert_snapshot!(check("f .lazaret-old \"z\"", after), @r"
    block path.reserved .lazaret-0123456789abcdef: lazaret keeps such names in the workspace's root for itself
    block path.reserved .lazaret-0123456789abcdef/0: lazaret keeps such names in the workspace's root for itself
    block path.reserved .lazaret-old: lazaret keeps such names in the workspace's root for itself
    warn suspect.dot_file sub/.lazaret-1: tools look for files whose name starts with a dot
    = needs review
    + a
    + sub
    + sub/.lazaret-1
    withheld .lazaret-0123456789abcdef: path.reserved
    withheld .lazaret-0123456789abcdef/0: path.reserved
    withheld .lazaret-old: path.reserved
    ");
}
