//! What a person would not see afterwards: new files that git ignores (SUS-34), and links to
//! what stayed out of the copy (SUS-35).

use insta::assert_snapshot;
use lazaret_tests::tree_text;

use crate::support::{Outcome, TestEnvironment};

#[track_caller]
fn checked(env: &TestEnvironment, base: &str, edit: &str) -> Outcome {
    for dir in ["work/base", "work/candidate"] {
        std::fs::create_dir_all(env.path(dir)).unwrap();
    }
    tree_text::build(base, &env.path("work/base"));
    tree_text::build(
        "f .gitignore \"/gen/\\n/cache/\\n\"",
        &env.path("work/base"),
    );
    tree_text::build(
        "f .gitignore \"/gen/\\n/cache/\\n\"",
        &env.path("work/candidate"),
    );
    tree_text::build(edit, &env.path("work/candidate"));
    env.run("check candidate --base base")
}

/// The rules are those of a file that the batch does not touch, of `.git/info/exclude`, and
/// of the user's own ignore file.
#[test]
fn sus_34_files_that_git_ignores_are_said() {
    let env = TestEnvironment::new();
    env.write("home/.config/git/ignore", "*.log\n");
    env.write("work/base/.git/info/exclude", "/private\n");
    let edit = "f gen/setup.js \"1\\n\"\nf a.log \"1\\n\"\nf private \"1\\n\"\nf seen \"1\\n\"";
    assert_snapshot!(checked(&env, "", edit), @"
    exit 0
    --- stdout
      + a.log
      + gen
      + gen/setup.js
      + private
      + seen
    0 modified, 5 added, 0 deleted (+4 -0)
    note   git.ignored  a.log         git ignores it, so `git status` does not show it
    note   git.ignored  gen/setup.js  git ignores it, so `git status` does not show it
    note   git.ignored  private       git ignores it, so `git status` does not show it
    clean
    [EOF]
    ");
}

/// What the links lead to is in the workspace, and was never copied.
#[test]
fn sus_35_links_to_what_was_left_out_come_alive() {
    let env = TestEnvironment::new();
    let base = "f .env \"TOKEN=1\\n\"\nf cache/deep/x \"1\\n\"";
    let edit = "l public/x -> ../.env\nl y -> cache\nl z -> cache/deep/x\nl nowhere -> absent";
    assert_snapshot!(checked(&env, base, edit), @"
    exit 120
    --- stdout
      + nowhere
      + public
      + public/x
      + y
      + z
    0 modified, 5 added, 0 deleted
    warn   link.left_out  public/x  leads to `.env`, which the workspace has and the copy had not: the link comes alive there
    warn   link.left_out  y         leads to `cache`, which the workspace has and the copy had not: the link comes alive there
    warn   link.left_out  z         leads to `cache/deep/x`, which the workspace has and the copy had not: the link comes alive there
    needs review
    [EOF]
    ");
}
