//! Branches and commits in the review: what is drawn, and what keys choose.

use lazaret_tree::RelPath;
use lazaret_validator::{Finding, Severity, Subject};

use super::branch::{Branch, BranchChoice, BranchStatus, Commit, Commits};
use super::keys::Key;
use super::model::{Effect, Review, ReviewAnswer, Title};
use super::tests::{FakeBench, finding, press, sample, typed};
use super::view::Palette;
use super::view::tests::{buffer, text};

/// Two branches, of which one is blocked, and what stays.
fn commits() -> Commits {
    let commit = |subject: &str, findings: Vec<Finding>| Commit {
        subject: subject.to_owned(),
        facts: vec![
            "commit 9d2e6f1a77".to_owned(),
            "A <a@example.org>, 2026-11-21 14:05 UTC".to_owned(),
        ],
        findings: findings.into_iter().collect(),
    };
    let build = || Finding {
        subject: Subject::Path(RelPath::new("src/build.rs").unwrap().to_owned()),
        ..finding(
            Severity::Warn,
            "file.build",
            "runs when the project is built",
        )
    };
    let branch = |name: &str, commits: Vec<Commit>| Branch {
        name: format!("branch {name}"),
        lands_as: format!("lazaret/harbour-1/{name}"),
        facts: vec![
            format!("becomes refs/heads/lazaret/harbour-1/{name}"),
            "2 commits on 4f1c2a9b03, 3 changes".to_owned(),
        ],
        findings: [build()].into_iter().collect(),
        status: BranchStatus::Free,
        choice: BranchChoice::Land,
        commits,
    };
    let fix = branch(
        "fix",
        vec![
            commit("Handle an empty cart", Vec::new()),
            commit("Add a build script \\u{202e}", vec![build()]),
        ],
    );
    let evil = Branch {
        status: BranchStatus::Stays("refused: commit 0b81c55e2d has .git: git may take it".into()),
        choice: BranchChoice::Leave,
        findings: [].into_iter().collect(),
        ..branch("evil", Vec::new())
    };
    Commits {
        branches: vec![fix, evil],
        facts: vec!["stays in the copy: 1 commit only in the reflog".to_owned()],
    }
}

/// The review of the files beside the commits, at 80 columns.
fn start() -> (Review, FakeBench) {
    let (review, bench) = sample();
    let mut review = review.with_commits(commits());
    review.resize(80, 24);
    (review, bench)
}

fn screen(keys: &[Key]) -> String {
    let (mut review, mut bench) = start();
    press(&mut review, &mut bench, keys);
    text(&buffer(&review, Palette::Plain, (80, 24)))
}

/// The lines of the right half, without those that are empty.
fn right_half(keys: &[Key]) -> String {
    let screen = screen(keys);
    let lines = screen.lines().filter_map(|line| line.split_once('│'));
    let lines = lines.map(|(_, right)| right.trim());
    lines
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

fn picked(review: &Review) -> Vec<usize> {
    review.commits().picked().collect()
}

#[test]
fn a_branch_shows_where_it_goes() {
    insta::assert_snapshot!(screen(&typed("Gkkk")), @r"
     lazaret review harbour-1  /home/ada/harbour
     [!]    ▾ .github/workflows/    │ branch fix
     [!] +B   ci.yml             +2 │ becomes refs/heads/lazaret/harbour-1/fix
     [x] ~W Makefile          +1 -1 │ 2 commits on 4f1c2a9b03, 3 changes
     [x]    ▾ docs/                 │ warn file.build: src/build.rs: runs when the
     [x] -    old.md             -2 │ project is built
     [x]    ▾ src/                  │
     [x] ~    lib.rs   merged +3 -2 │
     [x] ~    run.sh                │
     [x]    commits                 │
     [x]  W   ▾ branch fix      (2) │
                Handle an empty ca… │
          W     Add a build script… │
     [!]      ▾ branch evil         │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
                                    │
    4 of 5 will be applied, 1 can't be; 1 of 2 branches landed
    space take/leave  A apply  q keep  ? help  Tab diff  n hunk  ] finding  ! allow
    ");
}

#[test]
fn a_refused_branch_shows_why() {
    insta::assert_snapshot!(right_half(&typed("G")), @r"
    branch evil
    becomes refs/heads/lazaret/harbour-1/evil
    2 commits on 4f1c2a9b03, 3 changes
    Stays in the copy: refused: commit 0b81c55e2d
    has .git: git may take it
    ");
}

#[test]
fn a_commit_opens_to_its_diff() {
    insta::assert_snapshot!(right_half(&typed("Gk")), @r"
    Add a build script \u{202e}
    commit 9d2e6f1a77
    A <a@example.org>, 2026-11-21 14:05 UTC
    warn file.build: src/build.rs: runs when the
    project is built
    ~ src/0-1.rs
    @@ -1 +1,2 @@  hunk 1 of 1
    1 1   one
    2 + two
    + logo.png
    binary, 12 bytes
    ");
}

#[test]
fn the_last_screen_says_what_is_landed() {
    insta::assert_snapshot!(screen(&typed("A")), @r"
     lazaret review harbour-1  /home/ada/harbour
     4 will be applied, 5 hunks, 1 branch landed; 2 stay in the copy.
     Will be applied:
       ~ Makefile
       - docs/old.md
       ~ src/lib.rs
       ~ src/run.sh

     Will be landed:
         branch fix → lazaret/harbour-1/fix

     Stays in the copy:
         .github/workflows/ci.yml  blocked
         branch evil  refused: commit 0b…: git may take it








    j, k: look through it
    lazaret? Apply 4 of 5, land 1 branch? [y=yes, n=no]
    ");
}

#[test]
fn branches_are_picked_and_commits_are_not() {
    let (mut review, mut bench) = start();
    assert_eq!(picked(&review), [0]);
    // The refused branch, a commit, the branch, the heading.
    press(&mut review, &mut bench, &typed("G "));
    assert!(review.notice.as_ref().unwrap().contains("can't be landed"));
    press(&mut review, &mut bench, &typed("k "));
    assert!(review.notice.as_ref().unwrap().contains("with its branch"));
    press(
        &mut review,
        &mut bench,
        &[Key::Tab, Key::Char(' '), Key::Tab],
    );
    assert_eq!(picked(&review), [0]);
    press(&mut review, &mut bench, &typed("kk "));
    assert_eq!(picked(&review), [] as [usize; 0]);
    press(&mut review, &mut bench, &typed("k "));
    assert_eq!(picked(&review), [0]);
}

#[test]
fn everything_on_show_has_branches_too() {
    let (mut review, mut bench) = start();
    press(&mut review, &mut bench, &typed("Gkkk "));
    // Files are taken already: only the branch is added.
    press(&mut review, &mut bench, &typed("a"));
    assert_eq!((review.counts().taken, picked(&review)), (4, vec![0]));
    press(&mut review, &mut bench, &typed("a"));
    assert_eq!((review.counts().taken, picked(&review)), (0, vec![]));
    press(&mut review, &mut bench, &typed("a"));
    assert_eq!((review.counts().taken, picked(&review)), (4, vec![0]));
}

#[test]
fn branches_open_and_close() {
    let (mut review, mut bench) = start();
    let rows = review.rows.len();
    // From a commit to its branch, which closes and opens below the cursor.
    press(&mut review, &mut bench, &typed("Gkhh"));
    assert_eq!(review.rows.len(), rows - 2);
    assert_eq!(review.rows[review.cursor].branch(), Some(0));
    press(&mut review, &mut bench, &typed("l"));
    assert_eq!(review.rows.len(), rows);
    assert_eq!(review.rows[review.cursor].branch(), Some(0));
    assert_eq!(review.rows[review.cursor].body(), None);
}

#[test]
fn the_filter_finds_commits() {
    let (mut review, mut bench) = start();
    press(&mut review, &mut bench, &typed("/empty cart"));
    press(&mut review, &mut bench, &[Key::Enter]);
    let bodies = review.rows.iter().filter(|row| row.body().is_some());
    assert_eq!((review.rows.len(), bodies.count()), (3, 1));
    press(&mut review, &mut bench, &[Key::Esc]);
    press(&mut review, &mut bench, &typed("ff"));
    // Nothing of the commits is blocked.
    assert!(!review.rows.iter().any(|row| row.is_of_commits()));
}

#[test]
fn branches_alone_can_be_landed() {
    let title = Title {
        session: "harbour-1".to_owned(),
        workspace: "/home/ada/harbour".to_owned(),
        commits: Some("branch fix: 2 commits".to_owned()),
    };
    let mut review = Review::new(title, Vec::new()).with_commits(commits());
    let mut bench = FakeBench::default();
    review.resize(80, 24);
    assert_eq!(review.rows[review.cursor].branch(), Some(0));
    press(&mut review, &mut bench, &typed("A"));
    let drawn = text(&buffer(&review, Palette::Plain, (80, 24)));
    assert!(drawn.contains("Land 1 branch? [y=yes, n=no]"), "{drawn}");
    let effect = press(&mut review, &mut bench, &typed("y"));
    assert_eq!(effect, Effect::End(ReviewAnswer::Apply));
}

#[test]
fn commits_that_cannot_be_fetched_are_a_line() {
    let (review, mut bench) = sample();
    let mut review = review.with_commits(Commits {
        branches: Vec::new(),
        facts: vec!["The commits can't be shown: no engine answers".to_owned()],
    });
    review.resize(80, 24);
    press(&mut review, &mut bench, &typed("G"));
    let drawn = text(&buffer(&review, Palette::Plain, (80, 24)));
    assert!(drawn.contains("commits: not shown"), "{drawn}");
    assert!(drawn.contains("no engine answers"), "{drawn}");
    press(&mut review, &mut bench, &typed(" a"));
    assert_eq!(review.counts().taken, 0);
}
