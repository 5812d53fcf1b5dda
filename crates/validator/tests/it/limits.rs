//! Limits.

use insta::assert_snapshot;
use lazaret_validator::{Limits, Policy};

use crate::check_by;

fn policy(change: impl FnOnce(&mut Limits)) -> Policy {
    let mut policy = Policy::shipped();
    change(&mut policy.limits);
    policy
}

#[test]
fn tar_48_entries() {
    let policy = policy(|limits| limits.entries = 2);
    assert_snapshot!(check_by(&policy, "f old \"1\"", "f a \"1\"\nf b \"1\""), @"
    block limit.entries .: 3 changes, and 2 are allowed
    = rejected
    ");
    // What did not change does not count.
    assert_snapshot!(check_by(&policy, "f a \"1\"\nf b \"1\"", "f a \"1\"\nf b \"1\"\nf c \"1\"\nf d \"1\""), @"
    = clean
    + c
    + d
    ");
}

#[test]
fn tar_49_bytes() {
    let file = policy(|limits| limits.file_bytes = 3);
    assert_snapshot!(check_by(&file, "", "f a \"123\"\nf b \"1234\""), @"
    block limit.file_bytes b: 4 bytes, and 3 are allowed
    = rejected
    ");
    let total = policy(|limits| limits.total_bytes = 6);
    assert_snapshot!(check_by(&total, "f c \"12345678\"", "f a \"123\"\nf b \"1234\"\nx c \"12345678\""), @"
    block limit.total_bytes .: 7 bytes, and 6 are allowed
    warn mode.executable c: becomes executable
    = rejected
    ");
}

#[test]
fn tar_40_paths() {
    let policy = policy(|limits| {
        limits.path_bytes = 8;
        limits.depth = 3;
    });
    assert_snapshot!(check_by(&policy, "", "f a/b/c/d \"1\"\nf long-name \"1\""), @"
    block path.too_deep a/b/c/d: the path has 4 components, and 3 are allowed
    block path.too_long long-name: the path has 9 bytes, and 8 are allowed
    = needs review
    + a
    + a/b
    + a/b/c
    withheld a/b/c/d: path.too_deep
    withheld long-name: path.too_long
    ");
}
