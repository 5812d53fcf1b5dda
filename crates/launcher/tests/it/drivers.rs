//! What a `.gitattributes` may choose depends on what the user's git would run (GIT-11).

use insta::assert_snapshot;
use lazaret_tests::tree_text;

use crate::support::{Outcome, TestEnvironment};

const EDIT: &str =
    "f .gitattributes \"*.c filter=evil diff=view\\n*.d merge=mine\\n*.e filter=other\\n\"";

#[track_caller]
fn checked(env: &TestEnvironment, edit: &str) -> Outcome {
    for dir in ["work/base", "work/candidate"] {
        std::fs::create_dir_all(env.path(dir)).unwrap();
    }
    tree_text::build(edit, &env.path("work/candidate"));
    env.run("check candidate --base base")
}

#[test]
fn git_11_no_driver_is_configured() {
    assert_snapshot!(checked(&TestEnvironment::new(), EDIT), @"
    exit 120
    --- stdout
      + .gitattributes
    0 modified, 1 added, 0 deleted (+3 -0)
    warn   suspect.git_attributes  .gitattributes    chooses filters, or where large files come from
    warn   git.attributes          .gitattributes:1  `diff=view` runs a program to show differences
    warn   git.attributes          .gitattributes:1  `filter=evil` runs a program on checkout and on commit
    warn   git.attributes          .gitattributes:2  `merge=mine` runs a program to merge
    warn   git.attributes          .gitattributes:3  `filter=other` runs a program on checkout and on commit
    needs review
    [EOF]
    ");
}

#[test]
fn git_11_drivers_of_the_user_and_of_the_repository() {
    let env = TestEnvironment::new();
    env.write("home/.gitconfig", "[filter \"evil\"]\n\tclean = sh -c x\n");
    env.write(
        "home/.config/git/config",
        "[diff \"view\"]\n\ttextconv = x\n[filter \"Other\"]\nclean = x\n",
    );
    env.write("work/base/.git/config", "[merge \"mine\"] driver = x\n");
    assert_snapshot!(checked(&env, EDIT), @"
    exit 120
    --- stdout
      + .gitattributes  blocked
    0 modified, 1 added, 0 deleted (+3 -0)
    block  git.attributes          .gitattributes:1  `diff=view` runs a program to show differences, and your git configuration has it
    block  git.attributes          .gitattributes:1  `filter=evil` runs a program on checkout and on commit, and your git configuration has it
    block  git.attributes          .gitattributes:2  `merge=mine` runs a program to merge, and your git configuration has it
    warn   suspect.git_attributes  .gitattributes    chooses filters, or where large files come from
    warn   git.attributes          .gitattributes:3  `filter=other` runs a program on checkout and on commit
    needs review
    [EOF]
    ");
}

#[test]
fn git_11_a_configuration_that_can_not_be_read() {
    let env = TestEnvironment::new();
    std::fs::create_dir(env.path("home/.gitconfig")).unwrap();
    assert_snapshot!(checked(&env, EDIT), @"
    exit 120
    --- stdout
      + .gitattributes  blocked
    0 modified, 1 added, 0 deleted (+3 -0)
    block  git.attributes          .gitattributes:1  `diff=view` runs a program to show differences, and your git configuration could not be read to the end
    block  git.attributes          .gitattributes:1  `filter=evil` runs a program on checkout and on commit, and your git configuration could not be read to the end
    block  git.attributes          .gitattributes:2  `merge=mine` runs a program to merge, and your git configuration could not be read to the end
    block  git.attributes          .gitattributes:3  `filter=other` runs a program on checkout and on commit, and your git configuration could not be read to the end
    warn   git.config_unknown      .                 what git runs here is not known: cannot read ~/.gitconfig: it is not a regular file
    warn   suspect.git_attributes  .gitattributes    chooses filters, or where large files come from
    needs review
    [EOF]
    ");
}

#[test]
fn git_11_a_macro_that_was_there_before() {
    let env = TestEnvironment::new();
    env.write("home/.gitconfig", "[filter \"lfs\"]\n\tclean = git-lfs\n");
    let before = "f .gitattributes \"[attr]big lfs-files\\n[attr]lfs-files filter=lfs -text\\n\"";
    std::fs::create_dir_all(env.path("work/base")).unwrap();
    tree_text::build(before, &env.path("work/base"));
    std::fs::create_dir_all(env.path("work/candidate")).unwrap();
    tree_text::build(before, &env.path("work/candidate"));
    assert_snapshot!(checked(&env, "f sub/.gitattributes \"* big\\n\""), @"
    exit 120
    --- stdout
      + sub  skipped: needs a change that is not applied
      + sub/.gitattributes  blocked
    0 modified, 2 added, 0 deleted (+1 -0)
    block  git.attributes          sub/.gitattributes:1  `big` stands for `filter=lfs`, which runs a program on checkout and on commit, and your git configuration has it
    warn   suspect.git_attributes  sub/.gitattributes    chooses filters, or where large files come from
    needs review
    [EOF]
    ");
}
