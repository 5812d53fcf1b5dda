//! Work that would be lost.

use std::fmt::Write as _;
use std::sync::Arc;

use insta::assert_snapshot;
use lazaret_validator::{BlobId, GitIndex, Outcome, Policy};

use crate::{check, check_by, verdict};

fn files(count: usize, text: &str) -> String {
    let mut tree = String::new();
    for number in 0..count {
        writeln!(tree, "f src/m{number:02}.rs \"{text}{number}\"").unwrap();
    }
    tree
}

#[test]
fn sus_36_more_than_a_quarter_deleted_or_emptied() {
    let before = files(40, "x");
    assert_snapshot!(
        check(&before, &before.lines().skip(11).collect::<Vec<_>>().join("\n")).lines().take(2).collect::<Vec<_>>().join("\n"),
        @"
    warn deleted.many src/m00.rs: 11 of 40 files are deleted or emptied, this one with them
    = needs review
    "
    );
    let some = before.lines().skip(10).collect::<Vec<_>>().join("\n");
    assert_eq!(verdict(&before, &some).outcome, Outcome::Clean);
    let emptied: String = (0..11).fold(String::new(), |mut tree, number| {
        writeln!(tree, "f src/m{number:02}.rs \"\"").unwrap();
        tree
    });
    let emptied = format!(
        "{emptied}\n{}",
        before.lines().skip(11).collect::<Vec<_>>().join("\n")
    );
    assert_eq!(verdict(&before, &emptied).outcome, Outcome::NeedsReview);
    // Moved is not lost, and seven files are few.
    let moved = before.replace("src/", "lib/");
    assert_eq!(verdict(&before, &moved).outcome, Outcome::Clean);
    assert_eq!(
        verdict(&files(8, "x"), "f src/m00.rs \"x0\"").outcome,
        Outcome::Clean
    );
}

#[test]
fn sus_36_stash_and_reset_over_uncommitted_work() {
    let files = [
        ("src/a.rs", "committed"),
        ("src/b.rs", "same"),
        ("src/c.rs", "old"),
    ];
    let index: GitIndex = files
        .iter()
        .map(|(path, text)| (path.parse().unwrap(), BlobId::of(text.as_bytes())))
        .collect();
    let policy = Policy {
        index: Some(Arc::new(index)),
        ..Policy::shipped()
    };
    let before = r#"
        f src/a.rs "edited and not committed"
        f src/b.rs "same"
        f src/c.rs "old"
        f notes.md "not known to git"
        f draft/one.rs "1"
        f draft/two.rs "2"
        f out/build.rs "made"
        f .gitignore "/out/"
    "#;
    let after = r#"
        f src/a.rs "committed"
        f src/b.rs "same"
        f src/c.rs "new"
        f .gitignore "/out/"
    "#;
    assert_snapshot!(check_by(&policy, before, after), @"
    warn uncommitted.deleted draft: was deleted, with 2 files that git has no copy of
    warn uncommitted.deleted notes.md: was deleted, and git has no copy of it
    warn uncommitted.reverted src/a.rs: is as it was committed or staged again: the changes since are gone, and git has no copy of them
    note suspect.build_script out/build.rs: was deleted: runs at build
    = needs review
    - draft
    - draft/one.rs
    - draft/two.rs
    - notes.md
    - out
    - out/build.rs
    ~ src/a.rs
    ~ src/c.rs
    ");
    // Without a repository nothing is known of it.
    assert_eq!(
        check(before, after).lines().next(),
        Some("note suspect.build_script out/build.rs: was deleted: runs at build")
    );
}
