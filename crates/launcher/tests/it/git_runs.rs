//! What the user's own git configuration has git run in the workspace (GIT-27).

use insta::assert_snapshot;
use lazaret_tests::tree_text;

use crate::support::{Outcome, TestEnvironment};

const BASE: &str = "x .githooks/pre-commit \"a\\n\"\nx tools/watch \"w\\n\"\nf src/x \"1\\n\"";

#[track_caller]
fn checked(env: &TestEnvironment, edit: &str) -> Outcome {
    for dir in ["work/base", "work/candidate"] {
        std::fs::create_dir_all(env.path(dir)).unwrap();
        tree_text::build(BASE, &env.path(dir));
    }
    tree_text::build(edit, &env.path("work/candidate"));
    env.run("check candidate --base base")
}

#[test]
fn git_27_created_changed_deleted_and_replaced() {
    let env = TestEnvironment::new();
    env.write(
        "home/.gitconfig",
        "[core]\n\thooksPath = .githooks\n\tfsmonitor = tools/watch --x\n[alias]\n\tx = !sh new/run\n",
    );
    let edit = "x .githooks/pre-commit \"evil\\n\"\nf .githooks/lib/x \"evil\\n\"\n- tools/watch\n\
        l tools/watch -> ../src/x\nl new -> src\nf src/run \"r\\n\"\nf src/x \"2\\n\"";
    assert_snapshot!(checked(&env, edit), @"
    exit 120
    --- stdout
      + .githooks/lib  skipped: needs a change that is not applied
      + .githooks/lib/x  blocked
      ~ .githooks/pre-commit  blocked
      + new  blocked
      + src/run  blocked
      ~ src/x  blocked
      ~ tools/watch  blocked
    3 modified, 4 added, 0 deleted (+4 -2)
    block  git.runs           .githooks/lib/x       `core.hooksPath` of ~/.gitconfig runs it
    block  suspect.git_hooks  .githooks/lib/x       hooks and submodules run at commit, checkout or update
    block  git.runs           .githooks/pre-commit  `core.hooksPath` of ~/.gitconfig runs it
    block  suspect.git_hooks  .githooks/pre-commit  hooks and submodules run at commit, checkout or update
    block  git.runs           new                   puts something else at `new/run`: `alias.x` of ~/.gitconfig runs it
    block  git.runs           src/run               as `new/run`, by the link `new`: `alias.x` of ~/.gitconfig runs it
    block  git.runs           src/x                 by the link `tools/watch`: `core.fsmonitor` of ~/.gitconfig runs it
    block  git.runs           tools/watch           `core.fsmonitor` of ~/.gitconfig runs it
    needs review
    [EOF]
    ");
}

#[test]
fn git_27_the_repository_and_a_configuration_with_a_mistake() {
    let env = TestEnvironment::new();
    env.write("home/.gitconfig", "[core]\n\tpager = \"less\n");
    env.write(
        "work/base/.git/config",
        "[diff \"\u{1b}[2J\"]\n\ttextconv = src/x\n",
    );
    assert_snapshot!(checked(&env, "f src/x \"2\\n\""), @r"
    exit 120
    --- stdout
      ~ src/x  blocked
    1 modified, 0 added, 0 deleted (+1 -1)
    block  git.runs            src/x  `diff.\u{1b}[2J.textconv` of .git/config runs it
    warn   git.config_unknown  .      what git runs here is not known: line 2 of ~/.gitconfig is no configuration
    needs review
    [EOF]
    ");
}
